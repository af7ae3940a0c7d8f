import {
  agentsOf,
  ConfigurationError,
  otherVariables,
  queryOptions,
  readEnvironment,
  remoteOptions,
  retentionOptions,
  unusedVariables,
} from './index.js';

const TEN_YEARS_MS = 10 * 365.25 * 24 * 60 * 60_000;

describe('The environment of the service', () => {
  const faultsOf = (variables: Record<string, string>) => {
    try {
      readEnvironment(variables);
      return [];
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigurationError);
      return (error as Error).message.split('\n');
    }
  };

  it.each([
    [
      { AGENT: 'remote' },
      ['AGENT is "remote", which needs REMOTE_URL. Set it to the URL of the service that answers.'],
    ],
    [
      { REMOTE_URL: 'http://host' },
      ['REMOTE_URL has no effect without AGENT=remote. Set AGENT, or unset REMOTE_URL.'],
    ],
    [
      { AGENT: 'remote', REMOTE_URL: 'http://user:secret@host' },
      ['REMOTE_URL must be a URL that begins with https: or http:, without a user.'],
    ],
    [
      { AGENT: 'remote', REMOTE_URL: 'http://host', REMOTE_HEADERS: 'X-Key: a\nsecret' },
      ['REMOTE_HEADERS is not valid: its line 2 must be "Name: value".'],
    ],
    [
      { AGENT: 'model', MODEL: 'm' },
      ['AGENT is "model", which needs MODEL_BASE_URL and MODEL. Set both to name the model that answers.'],
    ],
    [
      { MODEL: 'm' },
      ['AGENT is "model", which needs MODEL_BASE_URL and MODEL. Set both to name the model that answers.'],
    ],
    [
      { AGENT: 'model', MODEL_PROVIDER: 'anthropic' },
      ['AGENT is "model", which needs MODEL. Set it to the name of the model.'],
    ],
    [
      { AGENT: 'echo', MODEL: 'm', MCP_SERVERS: './mcp.json' },
      [
        'MODEL has no effect without AGENT=model. Set AGENT, or unset MODEL.',
        'MCP_SERVERS has no effect without AGENT=model. Set AGENT, or unset MCP_SERVERS.',
      ],
    ],
    [
      { AGENT: 'model', MODEL: 'm', MODEL_BASE_URL: 'http://user:secret@host' },
      ['MODEL_BASE_URL must be a URL that begins with https: or http:, without a user.'],
    ],
    [
      { AGENT: 'model', MODEL: 'm', MODEL_BASE_URL: 'http://host', MODEL_API_KEY: 'sec\nret' },
      ['MODEL_API_KEY must consist of visible ASCII characters.'],
    ],
    [
      { AGENT: 'model', MODEL: 'm', MODEL_BASE_URL: 'http://host', MODEL_TEMPERATURE: 'hot' },
      ['MODEL_TEMPERATURE is "hot"; it must be a number from 0 to 2.'],
    ],
    [
      { AGENT: 'model', MODEL: 'm', MODEL_BASE_URL: 'http://host', MODEL_KWARGS: 'model,key' },
      [
        'MODEL_KWARGS is "model,key"; it must be of model, instructions, temperature, max_output_tokens, tools, with commas between them.',
      ],
    ],
    [
      { AGENT: 'model', MODEL: 'm', MODEL_BASE_URL: 'http://host', MODEL_INPUTS: 'smell' },
      ['MODEL_INPUTS is "smell"; it must be of image, pdf, audio, with commas between them.'],
    ],
  ])('explains %j without a secret', (variables, faults) => {
    expect(faultsOf(variables as Record<string, string>)).toEqual(faults);
  });

  it('reads the headers for the remote service', () => {
    const variables = {
      AGENT: 'remote',
      REMOTE_URL: 'http://host',
      REMOTE_HEADERS: ' X-Key:  a: b,c \n\nX-B: 2',
    };
    expect(remoteOptions(readEnvironment(variables)).headers).toEqual({ 'X-Key': 'a: b,c', 'X-B': '2' });
  });

  it('reads what holds for runs that ask', () => {
    expect(queryOptions(readEnvironment({})).runs).toMatchObject({
      onAsking: 'supersede',
      maxAskingPerOwner: 1_000,
      askInMemoryMs: 300_000,
    });
    const variables = { ON_ASKING: 'reject', MAX_ASKING_PER_OWNER: '3', ASK_IN_MEMORY_MS: '5000' };
    expect(queryOptions(readEnvironment(variables)).runs).toMatchObject({
      onAsking: 'reject',
      maxAskingPerOwner: 3,
      askInMemoryMs: 5_000,
    });
  });

  it('leaves the retention to the store if no variable sets it', () => {
    const retention = retentionOptions(readEnvironment({ RETENTION_RUN_MS: '' }));
    expect(retention).toEqual({});
  });

  it('sets each member of the retention with a variable', () => {
    const environment = readEnvironment({
      RETENTION_RUN_MS: '1',
      RETENTION_LOG_LENGTH: '2',
      RETENTION_TOTAL_LENGTH: '3',
      RETENTION_SESSION_MS: '4',
      RETENTION_SESSIONS_LENGTH: '5',
      RETENTION_FILE_MS: '6',
      RETENTION_FILES_BYTES: '7',
    });
    expect(retentionOptions(environment)).toEqual({
      runMs: 1,
      logLength: 2,
      totalLength: 3,
      sessionMs: 4,
      sessionsLength: 5,
      fileMs: 6,
      filesBytes: 7,
    });
  });

  it('accepts a retention of ten years, and any length that a number can count', () => {
    const most = String(Number.MAX_SAFE_INTEGER);
    const environment = readEnvironment({
      RETENTION_RUN_MS: String(TEN_YEARS_MS),
      RETENTION_SESSION_MS: String(TEN_YEARS_MS),
      RETENTION_FILE_MS: String(TEN_YEARS_MS),
      RETENTION_LOG_LENGTH: most,
      RETENTION_TOTAL_LENGTH: most,
      RETENTION_SESSIONS_LENGTH: most,
      RETENTION_FILES_BYTES: most,
    });
    const { runMs, sessionMs, fileMs, ...lengths } = retentionOptions(environment);
    expect([runMs, sessionMs, fileMs]).toEqual([TEN_YEARS_MS, TEN_YEARS_MS, TEN_YEARS_MS]);
    expect(new Set(Object.values(lengths))).toEqual(new Set([Number.MAX_SAFE_INTEGER]));
  });

  it.each([
    ['RETENTION_RUN_MS', '0', '0', 1],
    ['RETENTION_RUN_MS', '1.5', '"1.5"', 1],
    ['RETENTION_SESSION_MS', '1d', '"1d"', 1],
    ['RETENTION_FILE_MS', '-1', '"-1"', 1],
    ['RETENTION_LOG_LENGTH', '1e6', '"1e6"', 0],
    ['RETENTION_TOTAL_LENGTH', 'all', '"all"', 0],
    ['RETENTION_SESSIONS_LENGTH', '-1', '"-1"', 0],
    ['RETENTION_FILES_BYTES', '10GiB', '"10GiB"', 0],
  ])('refuses %s=%s, and tells what is possible', (name, value, shown, least) => {
    expect(faultsOf({ [name]: value })).toEqual([
      `${name} is ${shown}; it must be a whole number from ${least} to ${Number.MAX_SAFE_INTEGER}.`,
    ]);
  });

  it('refuses a length that a number cannot count exactly', () => {
    expect(faultsOf({ RETENTION_TOTAL_LENGTH: '9007199254740993' })).toHaveLength(1);
  });

  it('refuses AGENT=command without a program, and a program without AGENT=command', () => {
    expect(faultsOf({ AGENT: 'command', COMMAND: 'cat', COMMAND_PROCESSES: '3' })).toEqual([]);
    expect(faultsOf({ AGENT: 'command' })).toEqual([
      `AGENT is "command", which needs COMMAND. Set it to the program that answers, such as 'python3 agent.py'.`,
    ]);
    expect(faultsOf({ COMMAND: 'cat', COMMAND_PROCESSES: '3' })).toEqual([
      'COMMAND has no effect without AGENT=command. Set AGENT, or unset COMMAND.',
      'COMMAND_PROCESSES has no effect without AGENT=command. Set AGENT, or unset COMMAND_PROCESSES.',
    ]);
  });

  it('refuses AGENT=acp without a program, and a program without AGENT=acp', () => {
    expect(faultsOf({ AGENT: 'acp', ACP_COMMAND: 'opencode acp', ACP_KEEP_MS: '60000' })).toEqual([]);
    expect(faultsOf({ AGENT: 'acp', ACP_FILES: 'none' })).toEqual([
      'ACP_FILES is "none"; it must be "text", "embedded" or "link".',
      `AGENT is "acp", which needs ACP_COMMAND. Set it to the coding agent that answers, such as 'opencode acp'.`,
    ]);
    expect(faultsOf({ ACP_HOME: '/home/agent' })).toEqual([
      'ACP_HOME has no effect without AGENT=acp. Set AGENT, or unset ACP_HOME.',
    ]);
  });

  it('refuses a list of ACP_ENV that is not valid or names what is not set, and shows no value of it', () => {
    const acp = { AGENT: 'acp', ACP_COMMAND: 'opencode acp' };
    expect(faultsOf({ ...acp, ACP_ENV: 'A_KEY, DEBUG=1,EMPTY=', A_KEY: 'k' })).toEqual([]);
    expect(faultsOf({ ...acp, ACP_ENV: 'A_KEY' })).toEqual([
      'ACP_ENV names A_KEY, which is not set. Set it, or take it out of ACP_ENV.',
    ]);
    expect(faultsOf({ ...acp, ACP_ENV: 'DEBUG=1,my-key=secret' })).toEqual([
      'ACP_ENV is not valid: its entry 2 must be NAME or NAME=value.',
    ]);
    expect(faultsOf({ ...acp, ACP_ENV: 'A_KEY=sec,ret' })).toEqual([
      'The entry 2 of ACP_ENV is no variable that is set. Pass a value with a comma on by name.',
    ]);
    const several = { AGENTS: 'code=acp,say=echo', CODE__ACP_COMMAND: 'opencode acp' };
    expect(faultsOf({ ...several, CODE__ACP_ENV: 'A_KEY' })).toEqual([
      'CODE__ACP_ENV names A_KEY, which is not set. Set it, or take it out of CODE__ACP_ENV.',
    ]);
    expect(faultsOf({ ...several, ACP_ENV: 'A_KEY' })).toEqual([
      'ACP_ENV names A_KEY, which is not set. Set it, or take it out of ACP_ENV.',
    ]);
    expect(faultsOf({ ...several, SAY__ACP_MODE: 'default' })).toEqual([
      'SAY__ACP_MODE has no effect: the agent "say" is not "acp".',
    ]);
  });

  it('lets programs see no variable of the service', () => {
    const variables = {
      PATH: '/bin',
      JWT_SECRET: 'x',
      API_KEYS: 'y',
      DATABASE_URL: 'z',
      PORT: '1',
      MY_KEY: 'k',
    };
    expect(otherVariables(variables)).toEqual({ PATH: '/bin', MY_KEY: 'k' });
  });

  it('refuses RETENTION_FILE_MS with a store in memory, which cannot apply it', () => {
    expect(faultsOf({ DATABASE_URL: 'memory:', RETENTION_FILE_MS: '1000' })).toEqual([
      'RETENTION_FILE_MS has no effect with DATABASE_URL=memory:, which keeps a file as long as its session. ' +
        'Unset RETENTION_FILE_MS, or let DATABASE_URL name a file or a Postgres database.',
    ]);
    expect(faultsOf({ DATABASE_URL: 'memory:', RETENTION_RUN_MS: '1000' })).toEqual([]);
  });

  it('refuses QUEUE_URL and ROLE where no other process can use the database', () => {
    expect(faultsOf({ QUEUE_URL: 'redis://host', ROLE: 'worker' })).toEqual([
      'QUEUE_URL has no effect with a DATABASE_URL that belongs to one process. ' +
        'Unset QUEUE_URL, or let DATABASE_URL name a Postgres database.',
      'ROLE is "worker"; this needs a DATABASE_URL that several processes share: postgres://<user>@<host>/<database>.',
    ]);
    const shared = { DATABASE_URL: 'postgres://user@host/database' };
    expect(faultsOf({ ...shared, QUEUE_URL: 'redis://host', ROLE: 'worker' })).toEqual([]);
  });

  it('refuses DATABASE_DIRECT_URL where it has no effect, or another form, and does not repeat it', () => {
    const DATABASE_DIRECT_URL = 'mysql://me:secret@host/database';
    expect(faultsOf({ DATABASE_DIRECT_URL })).toEqual([
      'DATABASE_DIRECT_URL has no effect with a DATABASE_URL that belongs to one process. ' +
        'Unset DATABASE_DIRECT_URL, or let DATABASE_URL name a Postgres database.',
      'DATABASE_DIRECT_URL must be postgres://<user>@<host>/<database>.',
    ]);
    const DATABASE_URL = 'postgres://user@pooler/database';
    expect(faultsOf({ DATABASE_URL, DATABASE_DIRECT_URL: 'postgres://user@server/database' })).toEqual([]);
  });

  it.each(['0.0.0.0', '::', '192.168.1.7', 'agent.example.com', '127.0.0.1.example.com'])(
    'refuses to listen on %s without credentials',
    (host) => {
      expect(faultsOf({ HOST: host })).toEqual([
        `HOST is "${host}", which other machines reach, and no credentials are configured. ` +
          'Set API_KEYS, API_KEYS_FILE, JWT_JWKS_URL or JWT_SECRET. Or set HOST to 127.0.0.1. ' +
          'Or set ACCESS=open, so that everybody may use the service.',
      ]);
      expect(faultsOf({ HOST: host, ACCESS: 'open' })).toEqual([]);
    },
  );

  it.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('listens on %s without credentials', (host) => {
    expect(faultsOf({ HOST: host })).toEqual([]);
  });

  it.each([
    ['DISCONECT', 'DISCONNECT'],
    ['disconnect', 'DISCONNECT'],
    ['MAX_RUNING', 'MAX_RUNNING'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['CORS-ORIGIN', 'CORS_ORIGIN'],
    ['API_KEY', 'API_KEYS'],
  ])('warns of the variable %s, which looks like %s, and starts', (name, meant) => {
    expect(faultsOf({ [name]: 'x' })).toEqual([]);
    const agents = agentsOf(readEnvironment({}), {});
    expect(unusedVariables(agents, { [name]: 'x' })).toEqual([
      `The variable ${name} has no effect on this service. Did you mean ${meant}?`,
    ]);
  });

  it('ignores the variables of other programs', () => {
    const names = ['HOME', 'PATH', 'HOSTNAME', 'LOGNAME', 'AGENCY', 'POST', 'MAX_TOKENS', 'NODE_ENV', 'TZ'];
    const variables = Object.fromEntries(names.map((name) => [name, '1']));
    expect(faultsOf(variables)).toEqual([]);
    expect(unusedVariables(agentsOf(readEnvironment({}), {}), variables)).toEqual([]);
  });

  it.each([
    ['CORS_ORIGIN', 'https://a.example/', 'origins such as https://app.example.com'],
    ['CORS_ORIGIN', 'a.example', 'origins such as https://app.example.com'],
    ['CORS_ORIGIN', 'null', 'origins such as https://app.example.com'],
    ['TRUST_PROXY', '10.0.0.0/33', 'addresses or networks such as 10.0.0.0/8'],
    ['TRUST_PROXY', 'true', 'addresses or networks such as 10.0.0.0/8'],
    [
      'ALLOWED_HOSTS',
      'agent.local:3000',
      'names such as agent.local with commas between them, without ports',
    ],
    ['LOG_FORMAT', 'xml', '"json" or "text"'],
    ['LOG_LEVEL', 'all', '"fatal", "error", "warn", "info", "log", "debug" or "verbose"'],
    ['ACCESS', 'closed', '"open"'],
    ['ON_ASKING', 'wait', '"supersede", "enqueue" or "reject"'],
  ])('refuses %s=%s, and tells what it may be', (name, value, what) => {
    expect(faultsOf({ API_KEYS: `ann:${'0'.repeat(64)}`, [name]: value })).toContainEqual(
      expect.stringContaining(`${name} is "${value}"; it must be ${what}`),
    );
  });

  it.each(['JWT_ISSUER', 'JWT_AUDIENCE'])(
    'refuses %s of commas alone, which would accept any token',
    (name) => {
      expect(faultsOf({ JWT_SECRET: 's'.repeat(32), [name]: ' , ' })).toEqual([
        `${name} is " , "; it must be names with commas between them.`,
      ]);
    },
  );

  it.each([{ ACCESS: 'open' }, { JWT_SECRET: 's'.repeat(32) }])('refuses ALLOWED_HOSTS with %j', (access) => {
    expect(faultsOf({ ALLOWED_HOSTS: 'agent.local', ...access })).toEqual([
      expect.stringMatching(/^ALLOWED_HOSTS has no effect with credentials or ACCESS=open/),
    ]);
  });

  it('refuses ACCESS=open with credentials, and names of issuers without tokens', () => {
    const sentence = /^ACCESS=open lets everybody use the service, but credentials are configured\./;
    expect(faultsOf({ ACCESS: 'open', JWT_SECRET: 's'.repeat(32) })).toEqual([
      expect.stringMatching(sentence),
    ]);
    expect(faultsOf({ JWT_AUDIENCE: 'agents' })).toEqual([
      expect.stringMatching(/^JWT_ISSUER and JWT_AUDIENCE have no effect without/),
    ]);
  });

  it('shows no part of a secret that is not valid', () => {
    const faults = faultsOf({ API_KEYS: 'naq_secret', JWT_SECRET: 'secret', JWT_JWKS_URL: 'secret' }).join();
    expect(faults).toMatch(/API_KEYS is not valid: .*JWT_JWKS_URL must be .*JWT_SECRET has 6 bytes/s);
    expect(faults).not.toContain('secret');
  });

  it('accepts lists of origins and of proxies', () => {
    expect(
      faultsOf({
        ACCESS: 'open',
        CORS_ORIGIN: 'https://a.example, http://localhost:5173,*',
        TRUST_PROXY: 'loopback, 10.0.0.0/8,fd00::/8, 192.168.1.7',
      }),
    ).toEqual([]);
  });
});
