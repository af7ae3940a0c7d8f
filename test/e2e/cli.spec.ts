import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { apiKeysOf, createApiKey } from '../../src/access/index.js';
import { ROWS } from '../../src/config/variables.js';
import { CLI, command, CommandProcess, quickCommand } from '../support/command-line.js';
import { LiteralService } from '../support/literal-service.js';
import { freePort } from '../support/free-port.mjs';
import { itInLongForm } from '../support/long-form.js';
import { serve as serveShared } from '../support/service.js';
import { promise } from '../promises.js';

const ROOT = resolve(import.meta.dirname, '../..');

describe('The command line', () => {
  it(promise('cli.help'), async () => {
    const { stdout, stderr, code } = await command([]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Usage: nest-agent-query /);
    for (const name of [
      'ask',
      'chat',
      'follow',
      'runs',
      'sessions',
      'cancel',
      'fork',
      'erase',
      'doctor',
      'serve',
      'keys',
      'owners',
      'show',
      'copy',
      'completion',
    ])
      expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'));
    expect(await quickCommand(['--help'])).toEqual({ stdout, stderr, code });
    expect(await quickCommand(['chatt'])).toEqual({
      stdout: '',
      stderr:
        "error: unknown command 'chatt'\n(Did you mean chat?)\nTo see all commands: nest-agent-query --help\n",
      code: 2,
    });
    expect(await quickCommand(['help', 'keys', 'create'])).toEqual(
      await quickCommand(['keys', 'create', '--help']),
    );
    expect(await quickCommand(['help', 'xyzzy'])).toEqual({
      stdout: '',
      stderr: "error: unknown command 'xyzzy'\nTo see all commands: nest-agent-query --help\n",
      code: 2,
    });
    expect(await quickCommand(['keys', 'crate'])).toEqual({
      stdout: '',
      stderr:
        "error: unknown command 'crate'\n(Did you mean create?)\nTo see all commands: nest-agent-query keys --help\n",
      code: 2,
    });
    expect(await quickCommand(['ask', '--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/--session <id>[^]*--url <url>/),
    });
    expect((await quickCommand(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it(promise('cli.keys-create'), async () => {
    const { stdout, stderr, code } = await quickCommand(['keys', 'create', 'ann.b-c_1']);
    expect([code, stderr]).toEqual([0, '']);
    const keys = stdout.match(/^naq_[\w-]{43}$/gm)!;
    expect(keys).toHaveLength(1);
    const sha256 = createHash('sha256').update(keys[0]).digest('hex');
    expect(apiKeysOf(/^API_KEYS=(.*)$/m.exec(stdout)![1])).toEqual([{ name: 'ann.b-c_1', sha256 }]);
    expect(stdout.split(`ann.b-c_1:${sha256}`)).toHaveLength(3);
    expect((await quickCommand(['keys', 'create', 'ann.b-c_1'])).stdout).not.toContain(keys[0]);
  });

  it(promise('cli.keys-create', 'with the time at which it expires'), async () => {
    const { stdout } = await quickCommand(['keys', 'create', 'ann', '--expires', '2027-01-31']);
    expect(stdout).toMatch(/^API_KEYS=ann:[0-9a-f]{64}:2027-01-31$/m);
    expect(await quickCommand(['keys', 'create', 'ann', '--expires', 'tomorrow'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: --expires must be a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z.\n',
    });
  });

  it(promise('cli.keys-add'), async () => {
    const directory = await mkdtemp(join(tmpdir(), 'keys-'));
    const path = join(directory, 'keys');
    const first = await quickCommand(['keys', 'create', 'ann', '--add', path, '--expires', '2027-01-31']);
    expect([first.code, first.stdout.match(/^naq_/gm)]).toEqual([0, ['naq_']]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    // The last line has no end.
    await writeFile(path, `# Keys\n${(await readFile(path, 'utf8')).trim()}`);
    const second = await quickCommand(['keys', 'create', 'ann', '--add', path]);
    const keys = [first, second].map(({ stdout }) => /^naq_.+$/m.exec(stdout)![0]);
    const [old, next] = keys.map((key) => createHash('sha256').update(key).digest('hex'));
    const text = `# Keys\nann:${old}:2027-01-31\nann:${next}\n`;
    expect(await readFile(path, 'utf8')).toBe(text);
    expect(second.stdout).toContain(`${path} has its line now.`);
    expect(second.stdout).toContain('Keys of "ann" in the file: 2. Remove the line of an old one');
    await writeFile(path, 'ann\n');
    expect(await quickCommand(['keys', 'create', 'ann', '--add', path])).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^error: The file of API keys ".+" is faulty: line 1 must be name:sha256, /,
      ),
    });
    expect(await readFile(path, 'utf8')).toBe('ann\n');
    const absent = await quickCommand(['keys', 'create', 'ann', '--add', join(directory, 'absent', 'keys')]);
    expect(absent).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/^error: .*ENOENT/) });
    await rm(directory, { recursive: true });
  });

  it(promise('cli.keys-list'), async () => {
    const directory = await mkdtemp(join(tmpdir(), 'keys-'));
    const path = join(directory, 'keys');
    const [a, b, c] = ['a', 'b', 'c'].map((digit) => digit.repeat(64));
    await writeFile(path, `ann:${a}:2020-01-31\nannabel:${b}:2999-01-31T18:00:00Z\n`);
    const rows = `NAME     DIGEST    EXPIRES
ann      aaaaaaaa  2020-01-31 (expired)
annabel  bbbbbbbb  2999-01-31T18:00:00Z
`;
    expect(await quickCommand(['keys', 'list', path])).toEqual({ code: 0, stdout: rows, stderr: '' });
    const variables = { API_KEYS: `bob:${c}`, API_KEYS_FILE: path };
    const { stdout } = await quickCommand(['keys', 'list'], variables);
    expect(stdout).toBe(rows.replace('ann  ', 'bob      cccccccc  never\nann  '));
    expect(await quickCommand(['keys', 'list', `${path}.no`])).toMatchObject({
      code: 2,
      stderr: `error: The file of API keys "${path}.no" cannot be read (ENOENT).\n`,
    });
    await rm(directory, { recursive: true });
  });

  it.each([[[]], [['a b']], [['']], [['a'.repeat(65)]], [['naq_a']], [['ann', 'bob']]])(
    promise('cli.keys-create', 'refuses the names %j'),
    async (names) => {
      const { stdout, stderr, code } = await quickCommand(['keys', 'create', ...names]);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^error: .+\n$/);
    },
  );

  it.each([
    [['ask', 'a', '-f', '/no/such.csv'], '"/no/such.csv" cannot be sent. There is no such file.'],
    [['ask', 'a', '-f', '/tmp'], '"/tmp" is a directory. Name its files.'],
    [['ask'], 'There is no text: stdin is empty.'],
    [['ask', '-5 + 3?'], `needs "--" before it: nest-agent-query ask -- "-5 + 3?"`],
    [['ask', 'a', '-o', CLI], `"${CLI}" is no directory. Give --output a new name, or a directory.`],
    [['follow', 'a', '-o', CLI], `"${CLI}" is no directory. Give --output a new name, or a directory.`],
    [['ask', '-', '-f', '-'], 'Both the text and a file are "-".'],
    [['ask', 'a', '--kwargs', '[1]'], `It must be a JSON object, such as '{"temperature":0.2}'.`],
    [['ask', 'a', '-s', 'b', '--kwargs', '{"session_id":"c"}'], 'Both --session and session_id'],
    [['ask', 'a', '--url', 'localhost:3000'], 'It must begin with http:// or https://'],
    [['ask', 'a', '--url', 'http://:secret@127.0.0.1'], 'The URL of the service is "http://…@127.0.0.1".'],
    [['doctor', 'http://ann:secret@127.0.0.1'], 'The URL of the service is "http://…@127.0.0.1".'],
    [['runs', '--url', 'ann:secret@127.0.0.1'], 'The URL of the service is "…@127.0.0.1".'],
    [['ask', 'a', '--agent', '../a'], 'The name of an agent has letters from a to z'],
    [['ask', 'a', '-c', '-s', 'b'], 'A session is named, and --continue takes the one that was used last.'],
    [['chat', '-f', '-'], 'Stdin has the texts of the conversation.'],
    [['chat', '-o', CLI], `"${CLI}" is no directory. Give --output a new name, or a directory.`],
    [['ask', 'a', '--key', 'a b'], 'The key must consist of visible ASCII characters.'],
    [['follow'], "missing required argument 'run'"],
    [['follow', 'a', '--after', '-1'], 'It must be a whole number from 0.'],
    [['runs', '--status', 'ended'], 'Allowed choices are waiting, running'],
    [['erase', 's'], 'There is no terminal to ask on. Give --yes'],
  ])(promise('cli.exit-codes', '2: %j'), async (parameters, sentence) => {
    const { stdout, stderr, code } = await quickCommand(parameters);
    expect([stdout, code]).toEqual(['', 2]);
    expect(stderr).toMatch(/^error: /);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain('secret');
  });

  it(promise('cli.exit-codes', '2: more on stdin than a text has'), async () => {
    const endless = new CommandProcess(['ask']);
    const lines = Buffer.from('y\n'.repeat(32_768));
    const write = () => endless.child.stdin!.write(lines, (error) => error || write());
    write();
    expect(await endless.end()).toEqual({
      stdout: '',
      stderr: 'error: Stdin has more than 64 MiB, too much for a text. To send it as a file: -f -\n',
      code: 2,
    });
  });

  it.each([
    [['runs'], '[]'],
    [['runs', '--json'], '{"runs":5}'],
    [['runs'], '{"runs":[null],"next":null}'],
    [['sessions'], 'null'],
    [['sessions'], '{"sessions":[]}'],
    [['session', 's'], '{"turns":[{"runId":"a","createdAt":"","text":""}],"next":null}'],
    [['cancel', 'a'], '[]'],
  ])(promise('cli.exit-codes', '4: another service answers %j with %s'), async (parameters, json) => {
    const other = createServer((_, response) => response.end(json)).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { stdout, stderr, code } = await quickCommand(parameters, {
      AGENT_QUERY_URL: `http://127.0.0.1:${port}`,
    });
    expect([stdout, code]).toEqual(['', 4]);
    expect(stderr).toBe(
      'error: The response is JSON, but not that of the service. (invalid_response)\n' +
        'Does the service listen there? --url or AGENT_QUERY_URL says where it is.\n',
    );
    await new Promise((resolve) => other.close(resolve));
  });

  it(
    promise('cli.exit-codes', '3: the service redirects to another host, which is sent nothing'),
    async () => {
      const other = await LiteralService.start([(_, response) => response.end('{}')]);
      const Location = other.url;
      const service = await LiteralService.start([
        (_, response) => response.writeHead(308, { Location }).end(),
      ]);
      const { stdout, stderr, code } = await quickCommand(['ask', 'Hello', '--url', service.url]);
      await Promise.all([service.stop(), other.stop()]);
      expect([stdout, code, other.requests]).toEqual(['', 3, []]);
      expect(stderr).toContain(`/query redirects to ${Location}, which could be another host`);
    },
  );

  it(
    promise('cli.exit-codes', '4: nobody answers; variables without a value are as absent ones'),
    async () => {
      const url = `http://127.0.0.1:${await freePort()}`;
      const empty = { AGENT_QUERY_URL: '', AGENT_QUERY_KEY: '' };
      // At once, because each tries several times.
      const [runs, follow, withoutUrl] = await Promise.all([
        command(['runs'], { AGENT_QUERY_URL: url }),
        command(['follow', 'a', '--url', url], empty),
        command(['runs'], empty),
      ]);
      expect([runs.stdout, runs.code]).toEqual(['', 4]);
      expect(runs.stderr).toContain(`No response came from ${url}/query`);
      expect(runs.stderr).toContain('(ECONNREFUSED). (connection_lost)');
      expect(withoutUrl.stderr).not.toContain('The URL of the service is ""');
      // It says nothing of a run.
      expect(follow.code).toBe(4);
      expect(follow.stderr).toMatch(
        /\(connection_lost\)\nDoes the service listen there\? --url or AGENT_QUERY_URL says where it is\.\n$/,
      );
    },
  );

  /** Checks that a command loads nothing of the service, nor what only another command needs. */
  async function startsQuickly(parameters: string[]): Promise<void> {
    const trace = `data:text/javascript,${encodeURIComponent(TRACE)}`;
    const { stderr } = await command(parameters, { NODE_OPTIONS: `--import "${trace}"` });
    const loaded = stderr.split('\n').filter((line) => line.startsWith('loaded '));
    expect(loaded.some((line) => line.includes('/commander/'))).toBe(true);
    expect(loaded.filter((line) => /\/(@nestjs|class-validator|packages\/doctor|mime)\//.test(line))).toEqual(
      [],
    );
  }

  it.each([[['ask', '--help']], [['runs', '--url', 'ftp://x']]])(
    promise('cli.start-up', '%j'),
    startsQuickly,
  );
  // They load what `ask --help` loads.
  itInLongForm.each([[['--help']], [['complete', '--', 'as']]])(promise('cli.start-up', '%j'), startsQuickly);
});

/** Writes the address of each module that is loaded. */
const HOOKS = `
import { writeSync } from 'node:fs';
export async function load(url, context, next) { writeSync(2, 'loaded ' + url + '\\n'); return next(url, context); }`;
const TRACE = `
import { register } from 'node:module';
register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(HOOKS)}));`;

describe('The command serve', () => {
  const serve = (parameters: string[], environment: Record<string, string> = {}) =>
    new CommandProcess(['serve', ...parameters], environment);

  it(promise('cli.serve'), async () => {
    const { key, configured } = createApiKey('me');
    const API_KEYS = `me:${configured.sha256}`;
    const variables = { API_KEYS, PORT: 'none', DATABASE_URL: 'file:/no/such/directory', LOG_FORMAT: 'json' };
    const flags = ['--port', '0', '--database', 'memory:', '--log-format', 'text', '--agent', 'command'];
    const service = serve([...flags, '--command', 'echo Hello'], variables);
    await service.until('nest-agent-query listens on');
    const [, url = ''] = /listens on (\S+)/.exec(service.stdout)!;
    expect(service.stdout).toMatch(/agent +command\n/);
    const answered = { stdout: 'Hello\n', code: 0 };
    expect(await quickCommand(['ask', 'Hi', '--url', url], { AGENT_QUERY_KEY: key })).toMatchObject(answered);
    expect(await quickCommand(['--key', key, 'ask', 'Hi', '--url', url])).toMatchObject(answered);
    expect(await quickCommand(['ask', 'Hi', '--url', url])).toMatchObject({
      stdout: '',
      stderr: expect.stringContaining('(unauthorized)\nSet AGENT_QUERY_KEY to an API key'),
      code: 3,
    });
    service.child.kill('SIGTERM');
    expect((await service.end()).code).toBe(0);
  });

  it(promise('cli.agent'), async () => {
    const agents = { AGENTS: 'one=command,two=command', ONE__COMMAND: 'echo 1', TWO__COMMAND: 'echo 2' };
    const service = await serveShared(agents);
    const asked = (...parameters: string[]) =>
      quickCommand(parameters, { AGENT_QUERY_URL: `${service.url}/` });
    expect((await asked('ask', 'Hi', '--agent', 'one')).stdout).toBe('1\n');
    expect((await asked('--agent', 'two', 'ask', 'Hi', '-s', 's')).stdout).toBe('2\n');
    expect((await asked('session', 's', '--agent', 'two')).stdout).toContain('> Hi');
    expect((await asked('session', 's', '--agent', 'one')).code).toBe(3);
    await service.stop();
  });

  it(promise('cli.serve', 'as the program of a container'), async () => {
    const main = join(ROOT, 'dist/main.js');
    expect(await quickCommand(['--wach'], {}, '', main)).toMatchObject({
      stdout: '',
      stderr: expect.stringContaining("unknown option '--wach'\n(Did you mean --watch?)"),
      code: 2,
    });
    const { stdout } = await quickCommand(['--help'], {}, '', main);
    expect(stdout).toMatch(/^Usage: node dist\/main\.js \[options\] \[agent\]\n/);
  });

  it(promise('cli.serve', 'every variable that is no secret has a flag in the help'), async () => {
    const { stdout, code } = await quickCommand(['serve', '--help']);
    expect(code).toBe(0);
    const flags: Record<string, string> = { DATABASE_URL: '--database', QUEUE_URL: '--queue' };
    const secrets = ['ACP_ENV', 'JWT_SECRET', 'MODEL_API_KEY', 'REMOTE_HEADERS'];
    for (const [variable, { value }] of ROWS) {
      const flag = flags[variable] ?? `--${variable.toLowerCase().replaceAll('_', '-')}`;
      const line = stdout.split('\n').find((each) => each.startsWith(`  ${flag} `));
      expect([variable, line !== undefined]).toEqual([variable, !secrets.includes(variable)]);
      const isShown = !['', undefined, Infinity, 'false'].includes(value as string);
      if (isShown) expect(stdout.replace(/\n +/g, ' ')).toContain(`(${String(value)})`);
    }
  });

  it.each([
    [['--port', 'x'], 1, 'PORT is "x"; it must be a whole number from 0 to 65535.'],
    [['--prot', '1'], 2, "unknown option '--prot'\n(Did you mean --port?)"],
    [['a.mjs', 'b.mjs'], 2, 'too many arguments'],
    [['no-such.mjs', '--database', 'memory:'], 66, 'AGENT is "no-such.mjs"; it must be'],
  ])(promise('cli.serve', 'refuses %j'), async (parameters, code, sentence) => {
    const refused = await quickCommand(['serve', ...parameters]);
    expect([refused.code, refused.stdout]).toEqual([code, '']);
    expect(refused.stderr).toContain(sentence);
  });

  it(promise('cli.serve-packages'), async () => {
    const directory = await mkdtemp(join(tmpdir(), 'packages-'));
    try {
      const missing = ['-a2a', '-ai-sdk', '-files', '-mcp', '-protocols'].map(
        (name) => `nest-agent-query${name}`,
      );
      missing.push('prom-client');
      await mkdir(join(directory, 'node_modules'));
      for (const name of await readdir(join(ROOT, 'node_modules')))
        if (!missing.includes(name))
          await symlink(join(ROOT, 'node_modules', name), join(directory, 'node_modules', name));
      for (const name of ['dist', 'package.json'])
        await cp(join(ROOT, name), join(directory, name), { recursive: true });
      const main = join(directory, 'dist/cli/main.js');
      const model = { MODEL: 'm', MODEL_BASE_URL: 'http://127.0.0.1:9', DATABASE_URL: 'memory:' };
      expect(await quickCommand(['serve', 'model'], model, '', main)).toEqual({
        stdout: '',
        stderr:
          'nest-agent-query cannot start.\nAGENT is "model": it needs a package that is not installed. ' +
          'Run npm install nest-agent-query-ai-sdk.\n',
        code: 1,
      });
      const remote = {
        REMOTE_URL: 'http://127.0.0.1:9/.well-known/agent-card.json',
        DATABASE_URL: 'memory:',
      };
      expect((await quickCommand(['serve', 'remote'], remote, '', main)).stderr).toBe(
        'nest-agent-query cannot start.\nAGENT is "remote" and REMOTE_URL an agent card: it needs a package that is not ' +
          'installed. Run npm install nest-agent-query-a2a.\n',
      );

      // Without an agent that is configured or installed, the service works all the same.
      const service = new CommandProcess(
        ['serve', '--database', 'memory:', '--port', '0'],
        { LOG_FORMAT: 'text' },
        main,
      );
      await service.until('Try it:');
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(service.stdout)!;
      expect(service.stdout).toContain('agent   echo\n');
      const { stdout } = await quickCommand(['ask', 'Hello', '--url', url]);
      expect(stdout).toContain('- a text of 5 characters: "Hello"');
      expect(stdout).toContain('`npm install nest-agent-query-files`');
      service.child.kill('SIGTERM');
      expect((await service.end()).code).toBe(0);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
