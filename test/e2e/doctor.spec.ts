import { setTimeout as wait } from 'node:timers/promises';
import { examine } from 'nest-agent-query-doctor';
import type { Finding, Remedy, Report } from 'nest-agent-query-doctor';
import { targetOf } from '../../packages/cli/src/doctor/target.js';
import { createApiKey } from '../../src/access/index.js';
import { Module } from '@nestjs/common';
import { diagnosticAgent, diagnosticHandler } from '../../src/agents/diagnostic/index.js';
import { message, QueryModule } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, get, request } from '../support/client.js';
import { command, quickCommand } from '../support/command-line.js';
import { type Faults, FaultyProxy, TLS_FILE } from '../support/faulty-proxy.js';
import { freePort } from '../support/free-port.mjs';
import { ONE_ADAPTER, startHost } from '../support/host.js';
import { serve, type SharedService } from '../support/service.js';

const EXTENT = { idle: 2, body: 400_000 };

/** What the proxies of the table do, and the checks that are not fine, each with its verdict and what was measured. */
const CASES: [title: string, faults: Faults, found: [check: string, verdict: string, measured: RegExp][]][] =
  [
    ['passes everything on', {}, []],
    [
      'collects answers and bodies',
      { collectsAnswers: true, collectsBodies: true },
      [
        [
          'buffering',
          'problem',
          /^9 events, one every 250 ms: all arrived at once; the first was held back for \d+(\.\d)? s$/,
        ],
        ['idle', 'warning', /^of a stream that is silent for 2 s nothing comes before its end: /],
        ['cuts', 'warning', /^a cut stream ends as if it were complete, /],
        ['uploads', 'warning', /^a proxy collects a body before it passes it on/],
      ],
    ],
    [
      'holds answers until a body has ended',
      { holdsAnswers: true },
      [
        [
          'uploads',
          'warning',
          /^a refusal arrives only after the whole upload: a proxy passes the body on at once, but reads no answer before its end$/,
        ],
      ],
    ],
    [
      'compresses, and sends each event at once',
      { compresses: 'at once' },
      [['compression', 'warning', /^the stream is compressed with gzip; events still arrive one by one$/]],
    ],
    [
      'compresses, and collects events for that',
      { compresses: 'later' },
      [
        [
          'compression',
          'problem',
          /^the stream is compressed with gzip, and events are held back for \d+(\.\d)? s for that$/,
        ],
      ],
    ],
    [
      'compresses every answer, also unasked',
      { compressesAll: true },
      [['compression', 'warning', /^the stream is compressed with gzip; events still arrive one by one$/]],
    ],
    [
      'says of a stream that is not compressed that it is',
      { mislabels: 'if accepted' },
      [
        [
          'compression',
          'problem',
          /^the stream claims Content-Encoding: gzip, but its bytes are not gzip: no client can read it$/,
        ],
      ],
    ],
    [
      'cuts a silent connection',
      { cutsSilentMs: 1_200 },
      [['idle', 'problem', /^cut after \d+(\.\d)? s; no keep-alive came before$/]],
    ],
    [
      'removes headers of requests and its prefix, refuses DELETE and large bodies',
      {
        prefix: '/api',
        drops: ['last-event-id', 'idempotency-key'],
        refuses: ['DELETE'],
        bodyBytes: 300_000,
      },
      [
        ['bodies', 'problem', /^a proxy refuses bodies \(413\); its limit is between 256 KiB and 391 KiB$/],
        ['last-event-id', 'problem', /^does not arrive: a stream that is resumed begins again$/],
        ['idempotency-key', 'problem', /^does not arrive: a repeated query runs the agent again$/],
        [
          'content-location',
          'problem',
          /^names the run below \/query, and clients need \/api\/query: a proxy removes \/api /,
        ],
        [
          'delete',
          'problem',
          /^does not reach the service, so that runs cannot be cancelled: the answer was 405 with text\/html/,
        ],
        [
          'agent-card',
          'warning',
          /^names http:\/\/127\.0\.0\.1:\d+\/a2a, but callers need an address below http:\/\/127\.0\.0\.1:\d+\/api\/$/,
        ],
      ],
    ],
    [
      'removes headers of answers',
      { hides: ['content-location', 'cache-control', 'x-accel-buffering'] },
      [
        ['content-location', 'problem', /^is lost/],
        [
          'cache-control',
          'warning',
          /^is lost: .*; X-Accel-Buffering: does not arrive: a proxy has used or removed it$/,
        ],
      ],
    ],
    [
      'ends what the service has cut, and tells the service late that a client has left',
      { completesCuts: true, staysMs: 3_500 },
      [
        ['cuts', 'warning', /^a cut stream ends as if it were complete, /],
        ['leaving', 'warning', /^noticed after [34](\.\d)? s$/],
      ],
    ],
    [
      'never tells the service that a client has left, names itself in its own way, and is before a service without signals',
      {
        staysMs: 60_000,
        sets: { host: '127.0.0.1:3000' },
        answers: { '/health/ready': { status: 'ready', detail: 'Signals do not arrive.' } },
      },
      [
        ['health', 'warning', /^the service is ready, but: Signals do not arrive\.$/],
        ['leaving', 'warning', /^not noticed within 5 s; --idle 30 shows whether it ever is$/],
        [
          'agent-card',
          'warning',
          /^names http:\/\/127\.0\.0\.1:3000\/a2a, but callers need an address below http:\/\/127\.0\.0\.1:\d+\/$/,
        ],
      ],
    ],
    [
      'asks for the full profile for everybody',
      { sets: { accept: 'text/event-stream' } },
      [
        ['leaving', 'unknown', /^a run cannot be looked at: the answer was 200 with text\/event-stream$/],
        ['accept', 'problem', /^is set to text\/event-stream for all/],
      ],
    ],
  ];

/** Faults because of which more than one check fails. */
const BROKEN: [title: string, faults: Faults, check: string, measured: RegExp][] = [
  [
    'says of every stream that it is compressed',
    { mislabels: 'always' },
    'reachable',
    /^the stream claims Content-Encoding: gzip, but its bytes are not gzip: no client can read it$/,
  ],
  [
    'cuts every stream',
    { cutsAllMs: 1_300 },
    'duration',
    /^a stream with an event each second was cut after \d+(\.\d)? s$/,
  ],
  [
    'asks for the plain profile for everybody',
    { sets: { accept: '*/*' } },
    'accept',
    /^text\/event-stream does not arrive/,
  ],
];

/** The checks that a URL with http, and a doctor without a credential, leave out. */
const UNTESTED: [check: string, verdict: string, measured: RegExp][] = [
  ['credentials', 'unknown', /^there is no credential to send: give one with --key$/],
  ['http2', 'unknown', /^browsers use HTTP\/2 with https only$/],
  ['http2-uploads', 'unknown', /^browsers use HTTP\/2 with https only$/],
];

const notFine = ({ findings }: Report) => findings.filter(({ verdict }) => verdict !== 'ok');

describe('The doctor', () => {
  let service: SharedService;
  const proxies: FaultyProxy[] = [];

  beforeAll(async () => {
    service = await serve();
  });
  afterEach(() => Promise.all(proxies.splice(0).map((proxy) => proxy.stop())));
  afterAll(() => service.stop());

  const through = async (faults: Faults, key?: string, to = service.url) => {
    const proxy = await FaultyProxy.before(to, faults);
    proxies.push(proxy);
    return examine(targetOf(proxy.url, 'query', key), EXTENT);
  };

  it(promise('cli.doctor'), async () => {
    // A service lets one owner do 20 tests at a time, and a doctor does at most eight. More doctors would delay events of others.
    const services = [service, await serve()];
    const reports: Report[] = [];
    for (let first = 0; first < CASES.length; first += 4) {
      const cases = CASES.slice(first, first + 4);
      const examined = cases.map(([, faults], index) =>
        through(faults, undefined, services[index >> 1]!.url),
      );
      reports.push(...(await Promise.all(examined)));
    }
    await Promise.all(services.slice(1).map((each) => each.stop()));
    const expected = CASES.map(([title, , found]) => ({
      title,
      found: Object.fromEntries(
        [...found, ...UNTESTED].map(([check, verdict, measured]) => [
          check,
          { verdict, measured: expect.stringMatching(measured) },
        ]),
      ),
    }));
    const seen = reports.map((report, index) => ({
      title: CASES[index]![0],
      found: Object.fromEntries(
        notFine(report).map(({ check, verdict, measured }) => [check, { verdict, measured }]),
      ),
    }));
    expect(seen).toEqual(expected);
    expect(reports.map(({ exitCode }) => exitCode)).toEqual([0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0, 1]);
  });

  it(promise('cli.doctor', 'also where several checks fail for one reason'), async () => {
    const reports = await Promise.all(BROKEN.map(([, faults]) => through(faults)));
    for (const [index, [, , check, measured]] of BROKEN.entries()) {
      const finding = reports[index]!.findings.find((each) => each.check === check);
      expect(finding).toMatchObject({ verdict: 'problem', measured: expect.stringMatching(measured) });
    }
  });

  it(promise('cli.doctor', 'keep-alives that come in time, and those that are collected'), async () => {
    const eager = await serve({ KEEP_ALIVE_MS: '500' });
    const reports = await Promise.all([
      through({}, undefined, eager.url),
      through({ collectsAnswers: true }, undefined, eager.url),
    ]);
    await eager.stop();
    const idle = reports.map(({ findings }) => findings.find(({ check }) => check === 'idle'));
    expect(idle).toMatchObject([
      {
        verdict: 'ok',
        measured: expect.stringMatching(
          /^a stream .* for 2 s arrives whole; \d keep-alives came, one every \d+(\.\d)? m?s$/,
        ),
      },
      {
        verdict: 'warning',
        measured: expect.stringMatching(/^of a stream that is silent for 2 s nothing comes before its end: /),
      },
    ]);
  });

  it(promise('cli.doctor', 'HTTP/2'), async () => {
    const urls: string[] = [];
    for (const faults of [{ tls: 'h2' }, { tls: 'h2', losesRefusals: true }, { tls: 'http/1.1' }] as const) {
      const proxy = await FaultyProxy.before(service.url, faults);
      proxies.push(proxy);
      urls.push(proxy.url);
    }
    const [first, ...others] = urls.map((url) => ['doctor', url, '--idle', '1', '--body', '1024', '--json']);
    const found = [
      await command(first!, trusting),
      ...(await Promise.all(others.map((parameters) => command(parameters, trusting)))),
    ];
    expect(found.map(({ code }) => code)).toEqual([0, 1, 0]);
    const http2 = found.map(({ stdout }) => (JSON.parse(stdout) as Report).findings.slice(-2));
    const fine = { check: 'http2', verdict: 'ok', measured: 'events arrive one by one over HTTP/2 too' };
    expect(http2).toMatchObject([
      [
        fine,
        {
          ...{ check: 'http2-uploads', verdict: 'ok' },
          measured: 'a refusal arrives over HTTP/2 too, while the body is sent',
        },
      ],
      [
        fine,
        {
          ...{ check: 'http2-uploads', verdict: 'problem' },
          measured: expect.stringMatching(
            /^the refusal is lost: the connection was closed .* while the body was sent$/,
          ),
        },
      ],
      [
        { check: 'http2', verdict: 'warning', measured: expect.stringMatching(/^is not offered/) },
        { check: 'http2-uploads', verdict: 'unknown', measured: 'HTTP/2 is not offered' },
      ],
    ]);
  });

  it(promise('cli.doctor-exit', 'a service that cannot be reached'), async () => {
    const proxy = await FaultyProxy.before(service.url, { tls: 'h2' });
    proxies.push(proxy);
    const nobody = `http://127.0.0.1:${await freePort()}`;
    const untrusted = await quickCommand(['doctor', proxy.url]);
    expect(untrusted.code).toBe(4);
    expect(untrusted.stdout).toMatch(
      /cannot be reached: its TLS certificate is self-signed\. .* \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
    );
    const absent = await quickCommand(['doctor', nobody]);
    expect(absent.code).toBe(4);
    expect(absent.stdout).toContain('(ECONNREFUSED)');
    expect((await quickCommand(['doctor', service.url.replace('http:', 'https:')])).code).toBe(4);
  });

  it(promise('cli.doctor-exit', 'another server, a path without an agent, and wrong usage'), async () => {
    expect(await quickCommand(['doctor', `${service.url}/health`])).toMatchObject({ code: 1 });
    const other = await quickCommand(['doctor', 'ftp://127.0.0.1']);
    expect([other.code, other.stdout]).toEqual([2, '']);
    expect(other.stderr).toMatch(/^error: The URL of the service is "ftp:\/\/127\.0\.0\.1"\./);
  });

  it(promise('cli.doctor-exit', 'a credential that is missing, wrong, or removed by a proxy'), async () => {
    const { key, configured } = createApiKey('ann');
    const guarded = await serve({ API_KEYS: `${configured.name}:${configured.sha256}` });
    const sentenceOf = async (faults: Faults, credential?: string) => {
      const { exitCode, findings } = await through(faults, credential, guarded.url);
      return [exitCode, findings[0]!.measured];
    };
    try {
      expect(await sentenceOf({})).toEqual([
        3,
        'refuses access (401): give an API key or a token with --key or AGENT_QUERY_KEY',
      ]);
      expect(await sentenceOf({}, 'naq_wrong')).toEqual([
        3,
        expect.stringMatching(/^refuses the credential \(401\): The credential is not valid/),
      ]);
      expect(await sentenceOf({ drops: ['authorization'] }, key)).toEqual([
        3,
        'the credential did not arrive: a proxy removes the header Authorization (401)',
      ]);
      const reports = await Promise.all([
        through({}, key, guarded.url),
        through({ drops: ['x-api-key'] }, key, guarded.url),
      ]);
      expect(reports[0].exitCode).toBe(0);
      const found = reports.map(({ findings }) =>
        findings
          .filter(({ check }) => check === 'access' || check === 'credentials')
          .map(({ verdict, measured }) => [verdict, measured]),
      );
      expect(found).toEqual([
        [
          ['ok', 'needs a credential (401 without one)'],
          ['ok', 'arrive as Authorization: Bearer, and as X-API-Key'],
        ],
        [
          ['ok', 'needs a credential (401 without one)'],
          ['problem', 'arrive as Authorization: Bearer, but a proxy removes the header X-API-Key'],
        ],
      ]);
    } finally {
      await guarded.stop();
    }
  });

  it(
    promise('cli.doctor', 'with a host that mounts the agent for tests, whole, in part, or not'),
    async () => {
      const handler = async function* () {
        yield message('Hi');
      };
      const query = QueryModule.forRoot({ handler });
      const named = { name: 'diagnostic', path: 'query/diagnostic' };
      const { decorators } = diagnosticAgent();
      const hosts = await Promise.all(
        [
          { ...diagnosticAgent(), ...named },
          // As hosts of earlier versions do.
          { handler: diagnosticHandler(), ...named },
          { handler: diagnosticHandler(), decorators, ...named },
          undefined,
        ].map((options) => {
          @Module({ imports: [query, ...(options ? [QueryModule.forRoot(options)] : [])] })
          class Application {}
          return startHost(ONE_ADAPTER, Application);
        }),
      );
      const reports = await Promise.all(
        hosts.map(({ url }) => examine(targetOf(url, 'query', undefined), EXTENT)),
      );
      await Promise.all(hosts.map((host) => host.close()));
      const found = reports.map((report) =>
        Object.fromEntries(notFine(report).map(({ check, measured }) => [check, measured])),
      );
      const same = {
        credentials: 'there is no credential to send: give one with --key',
        'agent-card': 'there is none: the service does not speak A2A',
        health: 'the way does not show it: the answer was 404 with application/json',
        http2: 'browsers use HTTP/2 with https only',
        'http2-uploads': 'browsers use HTTP/2 with https only',
      };
      const older = 'the service is older, or mounts the agent for tests without diagnosticAgent()';
      expect(found).toEqual([
        same,
        { ...same, cuts: older, leaving: older },
        {
          ...same,
          leaving:
            'the agent for tests is mounted without disconnect: "cancel": mount it with diagnosticAgent()',
        },
        { reachable: expect.stringMatching(/^has no agent for tests: mount diagnosticAgent\(\)/) },
      ]);
      expect(reports.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 1]);
    },
  );

  it(promise('cli.doctor', 'a service that answers everybody, and where the doctor itself is'), async () => {
    const open = await serve({ ACCESS: 'open' });
    // An address of all interfaces: whoever reaches one of them reaches the service.
    const url = open.url.replace('127.0.0.1', '0.0.0.0');
    const { findings, exitCode } = await examine(targetOf(url, 'query', 'naq_unused'), EXTENT);
    await open.stop();
    expect(exitCode).toBe(0);
    const found = Object.fromEntries(
      findings.map(({ check, verdict, measured }) => [check, [verdict, measured]]),
    );
    expect(found).toMatchObject({
      access: ['warning', 'needs no credential: whoever reaches this address may send queries'],
      credentials: ['unknown', 'the service does not ask for them'],
      delete: [
        'ok',
        'cancels a run from this machine; rules for other addresses were not tested: call it from elsewhere',
      ],
      'agent-card': ['ok', `names ${url}/a2a`],
    });
  });

  it(promise('cli.doctor', 'late refusals of a service that does not say when a body came'), async () => {
    const handler = diagnosticHandler();
    const query = QueryModule.forRoot({ handler });
    @Module({ imports: [query, QueryModule.forRoot({ handler, name: 'tests', path: 'query/diagnostic' })] })
    class Earlier {}
    const host = await startHost(ONE_ADAPTER, Earlier);
    const reports = await Promise.all(
      [{ holdsAnswers: true }, { collectsBodies: true }].map((faults) =>
        through(faults, undefined, host.url),
      ),
    );
    await host.close();
    const sentence =
      'a refusal arrives only after the whole upload: a proxy collects the body, or reads no answer before its end';
    for (const { findings } of reports)
      expect(findings).toContainEqual(
        expect.objectContaining({ check: 'uploads', verdict: 'warning', measured: sentence }),
      );
  });

  it(promise('cli.doctor', 'proxies that it does not know, in both forms'), async () => {
    const proxy = await FaultyProxy.before(service.url, {
      adds: { Server: `foo${'x'.repeat(10_000)}`, Via: '1.1 bar, 1.1 vm (squid/5.7)' },
      prefix: '/api',
    });
    proxies.push(proxy);
    const options = ['doctor', proxy.url, '--idle', '1', '--body', '1024'];
    const [text, json] = await Promise.all([quickCommand(options), command([...options, '--json'])]);
    const server = `Server: foo${'x'.repeat(88)}…`;
    expect(text.stdout).toContain(
      `\nProxies: Squid (Via: 1.1 vm (squid/5.7)), ${server}, which the doctor does not know, ` +
        'Via: 1.1 bar, which the doctor does not know\n',
    );
    expect(text.stdout).toContain(`
    Squid          let it write /api before the path in Content-Location
    unknown proxy  let it write /api before the path in Content-Location
    Or pass the path on unchanged, to a host whose global prefix it is.
`);
    const report = JSON.parse(json.stdout) as Omit<Report, 'findings'> & { findings: ShownFinding[] };
    expect(report.proxies).toEqual([
      { name: 'squid', header: 'Via: 1.1 vm (squid/5.7)' },
      { name: 'unknown', header: server },
      { name: 'unknown', header: 'Via: 1.1 bar' },
    ]);
    const { fixes } = report.findings.find(({ check }) => check === 'content-location')!;
    expect(fixes).toEqual([
      { proxy: 'Squid', text: 'let it write /api before the path in Content-Location' },
      { proxy: 'unknown proxy', text: 'let it write /api before the path in Content-Location' },
      { text: 'Or pass the path on unchanged, to a host whose global prefix it is.' },
    ]);
  });

  it(promise('cli.doctor', 'for people, with what helps'), async () => {
    const proxy = await FaultyProxy.before(service.url, { prefix: '/api' });
    proxies.push(proxy);
    const { stdout, stderr, code } = await quickCommand([
      'doctor',
      proxy.url,
      '--idle',
      '1',
      '--body',
      '1024',
    ]);
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toContain(
      `${proxy.url}/query\nProxies: none shows itself (HAProxy and AWS ALB never do)\n\n✔ Service `,
    );
    expect(stdout).toContain(
      '\n    HAProxy     http-response replace-header Content-Location ^/(.*) /api/\\1\n',
    );
    expect(stdout).toMatch(/\n\n16 fine, 1 problem, 1 warning, 3 not checked\.\n$/);
  });

  it(promise('service.diagnostic', 'which say how long the body was sent'), async () => {
    const bodyMsOf = async (ms: number) => {
      const answer = await request(service.url, { path: '/query/diagnostic' }, sentWithin(ms));
      await answer.whole();
      return Number(/^body;dur=(\d+)$/.exec(answer.headers['server-timing'] as string)![1]);
    };
    // The service may have begun to read a little later than the client to send.
    expect(await bodyMsOf(1_000)).toBeGreaterThan(500);
    expect(await bodyMsOf(0)).toBeLessThan(500);
  });

  it(promise('service.diagnostic'), async () => {
    const answer = await ask(service.url, 'x', {
      path: '/query/diagnostic',
      kwargs: { count: 2, intervalMs: 0 },
    });
    expect((await answer.allEnvelopes()).map(({ type }) => type)).toEqual([
      'diagnostic',
      'diagnostic',
      'done',
    ]);
    expect(answer.headers['content-location']).toBe(`/query/diagnostic/${answer.runId}`);
    expect((await answer.allEnvelopes())[0]!.data).toMatchObject({ number: 1 });
    expect(await (await get(service.url, '/query')).json()).toEqual({ runs: [], next: null });
    expect((await get(service.url, `/query/${answer.runId}`)).status).toBe(404);
    expect((await get(service.url, `/query/diagnostic/${answer.runId}`)).status).toBe(200);
    expect(service.output()).not.toContain(answer.runId);
  });
});

/** A finding of the JSON. */
type ShownFinding = Pick<Finding, 'check'> & { fixes: Remedy[] };

/** A body that is sent for so long. */
async function* sentWithin(ms: number): AsyncGenerator<string> {
  yield '{"parts":[{"type":"text","text":"x"}],';
  await wait(ms);
  yield '"kwargs":{"count":1}}';
}

/** Lets the command trust the certificate of the proxy. */
const trusting = { NODE_EXTRA_CA_CERTS: TLS_FILE };
