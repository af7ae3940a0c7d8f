import { examine } from 'nest-agent-query-doctor';
import type { Finding } from 'nest-agent-query-doctor';
import type { Report } from 'nest-agent-query-doctor';
import { targetOf } from '../src/cli/doctor/target.js';
import { command } from './support/command-line.js';
import { TLS_FILE } from './support/faulty-proxy.js';
import {
  hasProxy,
  type ProxyProgram,
  type RealProxy,
  startHaproxy,
  startNginx,
} from './support/real-proxies.js';
import { type Service, startService } from './support/service.js';

const EXTENT = { idle: 2, body: 2_000_000 };

/** What the documents tell to write for nginx, and for HAProxy. */
const GOOD_NGINX = `
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  client_max_body_size 768m;
  proxy_request_buffering off;`;

const NO_DELAY = 'option http-no-delay';

describe('The doctor', () => {
  let service: Service;
  const proxies: RealProxy[] = [];

  beforeAll(async () => {
    service = await startService();
  });
  afterEach(() => Promise.all(proxies.splice(0).map((proxy) => proxy.stop())));
  afterAll(() => service.stop());

  /** The checks that are not fine. */
  const found = async (starting: Promise<RealProxy>, path = '') => {
    const proxy = await starting;
    proxies.push(proxy);
    const { findings, proxies: seen } = await examine(
      targetOf(`${proxy.url}${path}`, 'query', undefined),
      EXTENT,
    );
    const others = findings.filter(({ verdict, check }) => verdict !== 'ok' && check !== 'http2');
    return { seen: seen.map(({ name }) => name), found: Object.fromEntries(others.map(inWords)) };
  };

  /** The exit code of the command, which trusts the certificate, and what is not fine. */
  const foundWithTls = async (starting: Promise<RealProxy>) => {
    const proxy = await starting;
    proxies.push(proxy);
    const { stdout, code } = await command(
      ['doctor', proxy.url, '--idle', '1', '--body', '2000000', '--json'],
      {
        NODE_EXTRA_CA_CERTS: TLS_FILE,
      },
    );
    const { findings } = JSON.parse(stdout) as Report;
    return [code, findings.filter(({ verdict }) => verdict !== 'ok')];
  };

  withProxy('nginx', 'finds that nginx collects answers and uploads, and limits bodies', async () => {
    expect(await found(startNginx(service.url, 'proxy_ignore_headers X-Accel-Buffering;'))).toEqual({
      seen: ['nginx'],
      found: {
        buffering: expect.stringMatching(
          /^problem: 9 events, one every 250 ms: all arrived at once; .* 2(\.\d)? s$/,
        ),
        idle: 'warning: of a stream that is silent for 2 s nothing comes before its end: the next proxy may cut it',
        uploads: expect.stringMatching(/^warning: a proxy collects a body/),
        bodies: 'problem: a proxy refuses bodies (413); its limit is between 1 MiB and 1.9 MiB',
      },
    });
  });

  withProxy(
    'nginx',
    'finds nothing in nginx with the settings of the documents, also below a prefix',
    async () => {
      expect(await found(startNginx(service.url, GOOD_NGINX))).toEqual({ seen: ['nginx'], found: {} });
      const location = 'proxy_hide_header Content-Location; add_header Content-Location $prefixed;';
      expect(await found(startNginx(service.url, GOOD_NGINX + location), '/api')).toEqual({
        seen: ['nginx'],
        found: {},
      });
    },
  );

  withProxy(
    'nginx',
    'finds compression, a short time-out, lost headers, a lost prefix and a refused DELETE',
    async () => {
      const location = `${GOOD_NGINX}
      gzip on; gzip_types text/event-stream; gzip_proxied any; gzip_min_length 0;
      proxy_read_timeout 1500ms;
      proxy_set_header Last-Event-ID "";
      limit_except GET POST { deny all; }`;
      expect(await found(startNginx(service.url, location), '/api')).toEqual({
        seen: ['nginx'],
        found: {
          compression: 'warning: the stream is compressed with gzip; events still arrive one by one',
          idle: expect.stringMatching(/^problem: cut after (?:1\.\d|2) s; no keep-alive came before$/),
          'last-event-id': 'problem: does not arrive: a stream that is resumed begins again',
          'content-location': expect.stringMatching(
            /^problem: names the run below \/query, and clients need \/api\/query: a proxy removes \/api /,
          ),
          delete: expect.stringMatching(
            /^problem: does not reach the service, so that runs cannot be cancelled: the answer was 403 with text\/html/,
          ),
        },
      });
    },
  );

  withProxy(
    'haproxy',
    'finds that HAProxy sends events late, unless it has option http-no-delay',
    async () => {
      expect(await found(startHaproxy(service.url, ''))).toEqual({
        seen: [],
        found: {
          buffering: expect.stringMatching(
            /^warning: 9 events, one every 250 ms, arrived one by one, but most are [12]\d\d ms late$/,
          ),
        },
      });
      expect(await found(startHaproxy(service.url, NO_DELAY))).toEqual({ seen: [], found: {} });
    },
  );

  withProxy('haproxy', 'finds what rules of HAProxy do', async () => {
    const rules = `${NO_DELAY}
  timeout server 1500ms
  option http-buffer-request
  http-request deny deny_status 413 if { req.hdr(content-length) -m int gt 1500000 }
  http-request del-header Idempotency-Key
  http-request deny unless { method GET POST }
  http-request replace-path /api(/.*) \\1`;
    expect(await found(startHaproxy(service.url, rules), '/api')).toEqual({
      seen: [],
      found: {
        idle: expect.stringMatching(/^problem: cut after (?:1\.\d|2) s; no keep-alive came before$/),
        bodies: 'problem: a proxy refuses bodies (413); its limit is between 1 MiB and 1.9 MiB',
        uploads: expect.stringMatching(/^warning: a proxy collects a body/),
        'idempotency-key': 'problem: does not arrive: a repeated query runs the agent again',
        'content-location': expect.stringMatching(/^problem: names the run below \/query, /),
        delete: expect.stringMatching(
          /^problem: does not reach the service, so that runs cannot be cancelled: the answer was 403 with text\/html/,
        ),
      },
    });
  });

  withProxy('nginx', 'finds nothing in nginx with HTTP/2', async () => {
    expect(await foundWithTls(startNginx(service.url, GOOD_NGINX, TLS_FILE))).toEqual([0, []]);
  });

  withProxy('haproxy', 'finds nothing in HAProxy with HTTP/2', async () => {
    expect(await foundWithTls(startHaproxy(service.url, NO_DELAY, TLS_FILE))).toEqual([0, []]);
  });

  withProxy('haproxy', 'finds nothing in HAProxy that gives the prefix back', async () => {
    const rules = `${NO_DELAY}
  http-request replace-path /api(/.*) \\1
  http-response replace-header Content-Location ^/(.*) /api/\\1`;
    expect(await found(startHaproxy(service.url, rules), '/api')).toEqual({ seen: [], found: {} });
  });
});

function inWords({ check, verdict, measured }: Finding): [string, string] {
  return [check, `${verdict}: ${measured}`];
}

/** A test that needs a proxy. It is skipped where there is none, unless `REQUIRE_PROXIES` is set, as in CI. */
function withProxy(program: ProxyProgram, title: string, test: () => Promise<void>): void {
  const reason = `${program} is not on this machine; it is in the package ${program} of Debian`;
  const isRequired = process.env['REQUIRE_PROXIES'] !== undefined;
  if (isRequired || hasProxy(program)) it(title, test);
  else it.skip(`${title} [skipped: ${reason}]`, test);
}
