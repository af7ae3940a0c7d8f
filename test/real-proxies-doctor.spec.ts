import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { examine, remediesFor } from 'nest-agent-query-doctor';
import { targetOf } from '../packages/cli/src/doctor/target.js';
import { createApiKey } from '../src/access/index.js';
import { freePort } from './support/free-port.mjs';
import {
  type RealProxy,
  startApache,
  startH2o,
  startHaproxy,
  startLighttpd,
  startNghttpx,
  startSquid,
  startTrafficServer,
  startVarnish,
  withProxy,
} from './support/real-proxies.js';
import { type Service, startService } from './support/service.js';

/** The time-outs below are between the second of an event and this silence. */
const EXTENT = { idle: 4, body: 400_000 };

const WAITS =
  'warning: a refusal arrives only after the whole upload: a proxy passes the body on at once, but reads no answer before its end';
const COLLECTS =
  'warning: a proxy collects a body before it passes it on: a refusal arrives only after the whole upload';
const CUT = expect.stringMatching(/^problem: cut after [23](\.\d)? s; no keep-alive came before$/);

/** Checks that `real-proxies.spec.ts` and `real-proxies-recipes.spec.ts` expect something of. */
const ELSEWHERE = new Set(['http2', 'http2-uploads', 'credentials', 'leaving', 'cuts', 'agent-card']);

describe('The doctor', () => {
  let service: Service;
  const proxies: RealProxy[] = [];

  beforeAll(async () => {
    service = await startService({ ACCESS: 'open', TRUST_PROXY: 'loopback' });
  });
  afterEach(() => Promise.all(proxies.splice(0).map((proxy) => proxy.stop())));
  afterAll(() => service.stop());

  /** What shows the proxy; and what is not fine, each with the remedies for that proxy. */
  const found = async (starting: Promise<RealProxy>, key?: string) => {
    const proxy = await starting;
    proxies.push(proxy);
    const report = await examine(targetOf(proxy.url, 'query', key), EXTENT);
    const faults = report.findings.filter(({ verdict, check }) => verdict !== 'ok' && !ELSEWHERE.has(check));
    return {
      seen: report.proxies.map(({ header }) => header.replace(/[\d.]+/g, 'N')),
      found: Object.fromEntries(
        faults.map((fault) => [
          fault.check,
          [
            `${fault.verdict}: ${fault.measured}`,
            ...remediesFor(fault, report.proxies).flatMap(({ proxy: title, text }) => (title ? [text] : [])),
          ],
        ]),
      ),
    };
  };

  /** The same with two forms of a proxy: as it is, and with the remedies. */
  const foundInBoth = (one: Promise<RealProxy>, other: Promise<RealProxy>) =>
    Promise.all([found(one), found(other)]);

  /** What is found where a proxy has no service. */
  const foundWithout = async (start: (service: string) => Promise<RealProxy>) =>
    Object.values((await found(start(`http://127.0.0.1:${await freePort()}`))).found);

  const unreached = (status: number) => [
    [`problem: a proxy answers ${status}: it does not reach the service`],
  ];

  withProxy(
    'apache',
    'says of Apache that only refusals wait, and that nothing is to set for uploads',
    async () => {
      const waits = { uploads: [WAITS, 'nothing to set: uploads pass at once'] };
      const faults = `ProxyTimeout 2
  SetOutputFilter DEFLATE
  RequestHeader unset Last-Event-ID
  Header unset Content-Location
  <Location "/">
    <LimitExcept GET POST>
      Require all denied
    </LimitExcept>
  </Location>`;
      const remedied = `ProxyTimeout 60
  SetOutputFilter DEFLATE
  SetEnvIf Request_URI ^/query no-gzip
  <Location "/">
    <LimitExcept GET POST DELETE>
      Require all denied
    </LimitExcept>
  </Location>`;
      const [faulty, good] = await foundInBoth(
        startApache(service.url, faults),
        startApache(service.url, remedied),
      );
      expect(faulty.seen).toEqual(['Server: Apache/N (Debian) OpenSSL/N']);
      expect(faulty.found).toEqual({
        ...waits,
        compression: [
          'warning: the stream is compressed with gzip; events still arrive one by one',
          'SetEnvIf Request_URI ^/query no-gzip; or no SetOutputFilter DEFLATE',
        ],
        idle: [CUT, 'ProxyTimeout 60 (the default is that of Timeout)'],
        'last-event-id': [
          'problem: does not arrive: a stream that is resumed begins again',
          'remove RequestHeader unset Last-Event-ID and RequestHeader set Last-Event-ID',
        ],
        'content-location': [
          'problem: is lost: clients that look for the path of the run do not find it',
          'remove Header unset Content-Location and Header set Content-Location',
        ],
        delete: [
          expect.stringMatching(
            /^problem: does not reach the service, .*: the answer was 403 with text\/html$/,
          ),
          'remove LimitExcept, or name DELETE in it',
        ],
      });
      expect(good.found).toEqual(waits);
      expect(await foundWithout(startApache)).toEqual(unreached(503));
    },
  );

  withProxy('apache', 'finds that Apache refuses uploads that pause, unless it waits longer', async () => {
    const [faulty, good] = await foundInBoth(
      startApache(service.url, 'RequestReadTimeout body=1'),
      startApache(service.url, 'RequestReadTimeout body=30,MinRate=500'),
    );
    expect(faulty.found).toEqual({
      uploads: [
        'warning: a proxy refuses an upload that pauses for 1.5 s (408)',
        'RequestReadTimeout body=30,MinRate=500',
      ],
    });
    expect(good.found).toEqual({ uploads: [WAITS, 'nothing to set: uploads pass at once'] });
  });

  withProxy('haproxy', 'finds that HAProxy collects small uploads where it is told to', async () => {
    const [faulty, good] = await foundInBoth(
      startHaproxy(service.url, 'option http-no-delay\n  option http-buffer-request'),
      startHaproxy(service.url, 'option http-no-delay'),
    );
    const { uploads, ...others } = faulty.found;
    expect(uploads).toContain('remove option http-buffer-request');
    expect(uploads![0]).toBe(
      'warning: a proxy collects a body of some kilobytes before it passes it on: refusals of longer ones arrive early',
    );
    expect([faulty.seen, others]).toEqual([[], {}]);
    expect(good).toEqual({ seen: [], found: {} });
    expect(await foundWithout((url) => startHaproxy(url, 'retries 0'))).toEqual(unreached(503));
  });

  withProxy(
    'lighttpd',
    'finds that lighttpd collects answers and uploads, unless it streams both',
    async () => {
      const streams = ['server.stream-response-body = 1', 'server.stream-request-body = 1'] as const;
      const [stock, good] = await foundInBoth(
        startLighttpd(service.url),
        startLighttpd(service.url, streams.join('\n')),
      );
      expect(stock).toEqual({
        seen: ['Server: lighttpd/N'],
        found: {
          buffering: [
            expect.stringMatching(
              /^problem: 9 events, one every 250 ms: all arrived at once; .* 2(\.\d)? s$/,
            ),
            streams[0],
          ],
          idle: [
            'warning: of a stream that is silent for 4 s nothing comes before its end: the next proxy may cut it',
            streams[0],
          ],
          uploads: [COLLECTS, streams[1]],
        },
      });
      expect(good).toEqual({ seen: ['Server: lighttpd/N'], found: {} });
      expect(await foundWithout(startLighttpd)).toEqual(unreached(503));
    },
  );

  withProxy('varnish', 'says of Varnish that only refusals wait, and what rules of it do', async () => {
    const rules = `sub vcl_recv { unset req.http.Last-Event-ID; if (req.method == "DELETE") { return (synth(405)); } }
sub vcl_backend_response { set beresp.do_stream = false; }`;
    const [stock, faulty] = await foundInBoth(startVarnish(service.url), startVarnish(service.url, rules));
    const uploads = [WAITS, 'nothing to set: uploads pass at once'];
    const seen = ['Via: N varnish (Varnish/N)'];
    expect(stock).toEqual({ seen, found: { uploads } });
    const remedy = 'remove beresp.do_stream = false and beresp.do_gzip = true from VCL';
    expect(faulty).toEqual({
      seen,
      found: {
        uploads,
        buffering: [expect.stringMatching(/^problem: .*: all arrived at once; /), remedy],
        idle: [expect.stringMatching(/^warning: .* nothing comes before its end/), remedy],
        'last-event-id': [
          expect.stringMatching(/^problem: does not arrive/),
          'remove unset req.http.Last-Event-ID and set req.http.Last-Event-ID from VCL',
        ],
        delete: [
          expect.stringMatching(/^problem: .*: the answer was 405 with text\/html$/),
          'remove the return (synth(…)) for this method from vcl_recv',
        ],
      },
    });
    expect(await foundWithout(startVarnish)).toEqual(unreached(503));
  });

  withProxy('squid', 'finds that Squid removes the credential, unless it has login=PASSTHRU', async () => {
    const { key, configured } = createApiKey('ann');
    const guarded = await startService({ API_KEYS: `${configured.name}:${configured.sha256}` });
    try {
      const [stock, good] = await Promise.all([
        found(startSquid(guarded.url), key),
        found(startSquid(guarded.url, 'login=PASSTHRU'), key),
      ]);
      const seen = [expect.stringMatching(/^Via: N \S+ \(squid\/N\)$/)];
      expect(stock).toEqual({
        seen,
        found: {
          reachable: [
            'problem: the credential did not arrive: a proxy removes the header Authorization (401)',
            'login=PASSTHRU on cache_peer',
          ],
        },
      });
      expect(good).toEqual({ seen, found: {} });
    } finally {
      await guarded.stop();
    }
    expect(await foundWithout(startSquid)).toEqual(unreached(502));
  });

  withProxy(
    'h2o',
    'finds that h2o collects uploads, cuts silent streams early, and limits bodies',
    async () => {
      const uploads = [COLLECTS, 'nothing to set in version 2.2: it collects each upload'];
      const seen = ['Server: hNo/N'];
      const [faulty, good] = await foundInBoth(
        startH2o(service.url, 'proxy.timeout.io: 2000\nlimit-request-body: 300000'),
        startH2o(service.url, 'proxy.timeout.io: 60000\nlimit-request-body: 805306368'),
      );
      expect(faulty).toEqual({
        seen,
        found: {
          uploads,
          idle: [CUT, 'proxy.timeout.io: 60000 (the default is 30000)'],
          bodies: [
            'problem: a proxy refuses bodies (413); its limit is between 256 KiB and 391 KiB',
            'limit-request-body: 805306368 (the default is 1 GiB)',
          ],
        },
      });
      expect(good).toEqual({ seen, found: { uploads } });
      expect(await foundWithout(startH2o)).toEqual(unreached(502));
    },
  );

  withProxy('nghttpx', 'finds nothing in nghttpx, unless its time-out is short', async () => {
    const [stock, faulty] = await foundInBoth(
      startNghttpx(service.url),
      startNghttpx(service.url, 'backend-read-timeout=2s'),
    );
    const seen = ['Server: nghttpx'];
    expect(stock).toEqual({ seen, found: {} });
    expect(faulty).toEqual({ seen, found: { idle: [CUT, 'backend-read-timeout=60s (the default)'] } });
    expect(await foundWithout(startNghttpx)).toEqual(unreached(502));
  });

  withProxy('trafficserver', 'finds what short time-outs of Traffic Server cut', async () => {
    const timeout = 'proxy.config.http.transaction_no_activity_timeout';
    const [stock, faulty] = await foundInBoth(
      startTrafficServer(service.url),
      startTrafficServer(service.url, `CONFIG ${timeout}_out INT 2`),
    );
    const seen = ['Server: ATS/N'];
    expect(stock).toEqual({ seen, found: {} });
    expect(faulty).toEqual({
      seen,
      found: { idle: [CUT, `${timeout}_in and …_out: 60 or more (the default is 30)`] },
    });
    expect(await foundWithout(startTrafficServer)).toEqual(unreached(502));
  });

  it('names a proxy that answers with a page of its own, also where it closes after each answer', async () => {
    const page =
      'HTTP/1.1 502 Bad Gateway\r\nserver: foo/1\r\nSERVER: bar\r\nvia: 1.0 fred, 1.1 caddy\r\n\r\n';
    const server = createServer((socket) => socket.once('data', () => socket.end(page)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { proxies: seen, findings } = await examine(targetOf(url, 'query', undefined), EXTENT);
    server.close();
    expect(findings.map(({ measured }) => measured)).toEqual([
      'a proxy answers 502: it does not reach the service',
    ]);
    expect(seen.map(({ header }) => header)).toEqual([
      'Via: 1.1 caddy',
      'Server: foo/1',
      'Server: bar',
      'Via: 1.0 fred',
    ]);
  });
});
