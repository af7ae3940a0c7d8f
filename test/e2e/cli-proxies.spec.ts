import type { Report } from 'nest-agent-query-doctor';
import { promise } from '../promises.js';
import { command, CommandProcess, quickCommand } from '../support/command-line.js';
import { deferred } from '../support/conditions.js';
import { FaultyProxy, TLS_FILE } from '../support/faulty-proxy.js';
import { ForwardingProxy } from '../support/forward-proxy.js';
import { freePort } from '../support/free-port.mjs';
import { DONE, event, LiteralService, stream } from '../support/literal-service.js';
import { serve } from '../support/service.js';

const HTTP = ['--url', 'http://agent.example.com:8080'];
const HTTPS = ['--url', 'https://agent.example.com'];
const HELLO = event(1, 'message', { content: 'Hello' }) + event(2, 'done', DONE);

describe('The command line behind a forward proxy', () => {
  const started: { stop(): Promise<unknown> }[] = [];
  const kept = <T extends { stop(): Promise<unknown> }>(what: T): T => (started.push(what), what);
  afterEach(async () => {
    for (const each of started.splice(0).reverse()) await each.stop();
  });
  const literal = async (...responds: Parameters<typeof LiteralService.start>[0]) =>
    kept(await LiteralService.start(responds));

  it.each([
    ['that relays the request', false, 'POST http://agent.example.com:8080/query'],
    ['that only connects', true, 'CONNECT agent.example.com:8080'],
  ])(promise('cli.proxy', 'an answer as it arrives, through a proxy %s'), async (_, isSecure, asked) => {
    const rest = deferred();
    const service = await literal((request, response) => {
      stream(event(1, 'message', { content: 'first ' }))(request, response);
      void rest.promise.then(() =>
        response.end(event(2, 'message', { content: 'second' }) + event(3, 'done', DONE)),
      );
    });
    const proxy = kept(await ForwardingProxy.start(service.url, { isSecure }));
    const environment = { HTTP_PROXY: proxy.url('ann:se%40cret'), NODE_EXTRA_CA_CERTS: TLS_FILE };
    const asking = new CommandProcess(['ask', 'Hello', ...HTTP], environment);
    await asking.until('first ');
    rest.resolve();
    expect(await asking.end()).toEqual({ stdout: 'first second', stderr: '', code: 0 });
    expect(proxy.asked).toEqual([`${asked} Basic YW5uOnNlQGNyZXQ=`]);
    expect(service.requests).toEqual([['POST', '/query']]);
  });

  it(promise('cli.proxy', 'with TLS to the service itself'), async () => {
    const service = await literal(stream(HELLO));
    const secure = kept(await FaultyProxy.before(service.url, { tls: 'http/1.1' }));
    const proxy = kept(await ForwardingProxy.start(secure.url));
    const parameters = ['ask', 'Hello', ...HTTPS];
    const environment = { HTTPS_PROXY: proxy.url(), NODE_EXTRA_CA_CERTS: TLS_FILE, NODE_NO_WARNINGS: '1' };
    // At once, because the first tries several times.
    const [untrusted, trusted] = await Promise.all([
      command(['runs', ...HTTPS], environment),
      command(parameters, { ...environment, NODE_TLS_REJECT_UNAUTHORIZED: '0' }),
    ]);
    expect([untrusted.code, untrusted.stderr]).toEqual([
      4,
      expect.stringContaining('No response came from https://agent.example.com/query?limit=50'),
    ]);
    expect(untrusted.stderr).toContain('(ERR_TLS_CERT_ALTNAME_INVALID)');
    expect(trusted).toEqual({ stdout: 'Hello', stderr: '', code: 0 });
    expect(proxy.asked.at(-1)).toBe('CONNECT agent.example.com:443');
  });

  it(promise('cli.proxy', 'not for a loopback address, nor for what NO_PROXY names'), async () => {
    const service = await literal(stream(HELLO));
    const proxy = kept(await ForwardingProxy.start(service.url));
    const { port } = new URL(service.url);
    const answer = { stdout: 'Hello', stderr: '', code: 0 };
    for (const host of ['127.0.0.1', 'localhost'])
      expect(
        await quickCommand(['ask', 'Hello', '--url', `http://${host}:${port}`], { HTTP_PROXY: proxy.url() }),
      ).toEqual(answer);
    expect(proxy.asked).toEqual([]);
    const outcome = await quickCommand(['ask', 'Hello', '--url', 'http://agent.invalid'], {
      HTTP_PROXY: proxy.url(),
      NO_PROXY: '.invalid',
    });
    expect(outcome.code).toBe(4);
    expect(proxy.asked).toEqual([]);
  });

  it.each([
    [HTTP, 407, 'refuses (407). It wants a name and a password, as in http://name:password@host:port.'],
    [
      HTTPS,
      407,
      'refuses to connect to agent.example.com:443 (407). It wants a name and a password, as in http://name:password@host:port.',
    ],
    [
      HTTP,
      403,
      'answers with a page (403): it refuses, cannot reach the service, or is no proxy for HTTP. NO_PROXY names the hosts that are asked directly.',
    ],
    [
      HTTPS,
      403,
      'refuses to connect to agent.example.com:443 (403). Ask who runs it, or name the host in NO_PROXY: then it is asked directly.',
    ],
    [HTTPS, 404, 'does not connect to agent.example.com:443 (404). It must run, and be a proxy for HTTP.'],
  ])(promise('cli.proxy-fault', 'which refuses: %j, %d'), async (url, refuses, says) => {
    const service = await literal(stream(HELLO));
    const proxy = kept(await ForwardingProxy.start(service.url, { refuses }));
    const name = url === HTTP ? 'http_proxy' : 'https_proxy';
    expect(await quickCommand(['ask', 'Hello', ...url], { [name]: proxy.url('ann:secret') })).toEqual({
      stdout: '',
      stderr: `error: The proxy of ${name}, ${proxy.url()}, ${says} (invalid_response)\n`,
      code: 4,
    });
    expect([proxy.asked.length, service.requests]).toEqual([1, []]);
  });

  it(promise('cli.proxy-fault', 'which is down or closes the connection, after some tries'), async () => {
    const service = await literal(stream(HELLO));
    const closing = kept(await ForwardingProxy.start(service.url, { closes: true }));
    const down = `http://127.0.0.1:${await freePort()}`;
    // At once, because each tries several times.
    const outcomes = await Promise.all([
      quickCommand(['runs', ...HTTP], { HTTP_PROXY: down }),
      command(['runs', ...HTTPS], { ALL_PROXY: closing.url() }),
    ]);
    expect(outcomes.map(({ code, stderr }) => [code, stderr.trim().split('\n').at(-1)])).toEqual([
      [
        4,
        `error: The proxy of HTTP_PROXY, ${down}, does not answer. It must run, and be a proxy for HTTP (ECONNREFUSED). (connection_lost)`,
      ],
      [
        4,
        `error: The proxy of ALL_PROXY, ${closing.url()}, does not connect to agent.example.com:443. It must run, and be a proxy for HTTP (ECONNRESET). (connection_lost)`,
      ],
    ]);
  });

  it(promise('cli.proxy-fault', 'which a variable names in a wrong way'), async () => {
    expect(await quickCommand(['runs', ...HTTP], { HTTP_PROXY: 'socks5://ann:secret@proxy:1080' })).toEqual({
      stdout: '',
      stderr:
        'error: HTTP_PROXY is "socks5://…@proxy:1080". It must be the address of a proxy for HTTP, such as ' +
        'http://proxy.example.com:3128. Special characters of its name and password are encoded, such as %40 for @.\n',
      code: 2,
    });
  });

  it.each([false, true])(promise('cli.proxy', 'the doctor too: TLS %s'), async (isSecure) => {
    const service = kept(await serve({ ALLOWED_HOSTS: 'agent.example.com' }));
    const proxy = kept(await ForwardingProxy.start(service.url, { isSecure }));
    const parameters = ['doctor', ...HTTP, '--idle', '1', '--body', '100000', '--json'];
    const environment = { HTTP_PROXY: proxy.url('ann:secret'), NODE_EXTRA_CA_CERTS: TLS_FILE };
    const { stdout, stderr, code } = await command(parameters, environment);
    expect(stderr).toBe(`All requests go through the proxy of HTTP_PROXY, ${proxy.url()}.\n`);
    const { findings } = JSON.parse(stdout) as Report;
    const notFine = findings.filter(({ verdict }) => verdict !== 'ok').map(({ check }) => check);
    // It has no credential, and asks over http.
    expect([code, notFine]).toEqual([0, ['access', 'credentials', 'http2', 'http2-uploads']]);
    const asked = isSecure
      ? 'CONNECT agent.example.com:8080'
      : 'POST http://agent.example.com:8080/query/diagnostic';
    expect(proxy.asked).toContain(`${asked} Basic YW5uOnNlY3JldA==`);
  });
});
