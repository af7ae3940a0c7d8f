import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { exchange, type Head } from './exchange.js';
import { proxiesOf } from './proxies.js';
import { remediesOf } from './remedies.js';

const headWith = (headers: Head['headers']): Head => ({ status: 200, headers, atMs: 1 });

const FASTLY = { 'x-served-by': 'cache-fra-etou8220025-FRA' };

describe('The proxies that show themselves', () => {
  it.each([
    [{ server: 'nginx/1.22.1' }, 'nginx', 'Server: nginx/1.22.1'],
    [{ server: 'openresty' }, 'nginx', 'Server: openresty'],
    [{ server: 'Tengine/3.1.0' }, 'nginx', 'Server: Tengine/3.1.0'],
    [{ server: 'NGINX' }, 'nginx', 'Server: NGINX'],
    [{ server: 'Caddy' }, 'caddy', 'Server: Caddy'],
    [{ via: '1.1 Caddy' }, 'caddy', 'Via: 1.1 Caddy'],
    [{ server: 'istio-envoy' }, 'envoy', 'Server: istio-envoy'],
    [{ 'x-envoy-upstream-service-time': '3' }, 'envoy', 'X-Envoy-Upstream-Service-Time: 3'],
    [{ server: 'cloudflare' }, 'cloudflare', 'Server: cloudflare'],
    [{ 'cf-ray': '8a-FRA' }, 'cloudflare', 'CF-Ray: 8a-FRA'],
    [{ server: 'awselb/2.0' }, 'alb', 'Server: awselb/2.0'],
    [{ 'set-cookie': ['a=b', 'AWSALB=secret'] }, 'alb', 'Set-Cookie'],
    [{ server: 'Apache' }, 'apache', 'Server: Apache'],
    [{ server: 'Apache/2.4.71 (Debian)' }, 'apache', 'Server: Apache/2.4.71 (Debian)'],
    [{ via: '1.1 www.example.com (Apache/2.4.71)' }, 'apache', 'Via: 1.1 www.example.com (Apache/2.4.71)'],
    [{ server: 'lighttpd/1.4.69' }, 'lighttpd', 'Server: lighttpd/1.4.69'],
    [{ via: '1.1 varnish (Varnish/7.1)' }, 'varnish', 'Via: 1.1 varnish (Varnish/7.1)'],
    [{ via: '1.1 varnish' }, 'varnish', 'Via: 1.1 varnish'],
    [{ 'x-varnish': '32770 3' }, 'varnish', 'X-Varnish: 32770 3'],
    [{ via: '1.1 vm (squid/5.7)' }, 'squid', 'Via: 1.1 vm (squid/5.7)'],
    [{ 'x-cache': 'MISS from vm' }, 'squid', 'X-Cache: MISS from vm'],
    [{ server: 'h2o/2.2.5' }, 'h2o', 'Server: h2o/2.2.5'],
    [{ server: 'nghttpx' }, 'nghttpx', 'Server: nghttpx'],
    [{ server: 'ATS/9.2.9' }, 'trafficserver', 'Server: ATS/9.2.9'],
    [
      { via: 'http/1.1 vm (ApacheTrafficServer/9.2.9 [cMsSf ])' },
      'trafficserver',
      /^Via: http\/1\.1 vm \(Apache/,
    ],
    [{ via: '1.1 vm (tinyproxy/1.11.1)' }, 'tinyproxy', 'Via: 1.1 vm (tinyproxy/1.11.1)'],
    [{ via: '1.1 kong/3.8.0' }, 'kong', 'Via: 1.1 kong/3.8.0'],
    [{ 'x-kong-upstream-latency': '4' }, 'kong', 'X-Kong-Upstream-Latency: 4'],
    [{ server: 'Microsoft-IIS/10.0' }, 'iis', 'Server: Microsoft-IIS/10.0'],
    [{ 'x-powered-by': 'ARR/3.0' }, 'iis', 'X-Powered-By: ARR/3.0'],
    [FASTLY, 'fastly', 'X-Served-By: cache-fra-etou8220025-FRA'],
    [{ ...FASTLY, via: '1.1 varnish, 1.1 varnish', 'x-varnish': '1' }, 'fastly', /^X-Served-By/],
    [{ via: '1.1 4a.cloudfront.net (CloudFront)' }, 'cloudfront', 'Via: 1.1 4a.cloudfront.net (CloudFront)'],
    [{ 'x-amz-cf-id': 'a==', 'x-cache': 'Miss from cloudfront' }, 'cloudfront', 'X-Amz-Cf-Id: a=='],
    [{ via: '1.1 google' }, 'google', 'Via: 1.1 google'],
    [{ 'x-azure-ref': '20261129T1' }, 'frontdoor', 'X-Azure-Ref: 20261129T1'],
    [{ server: 'AkamaiGHost' }, 'akamai', 'Server: AkamaiGHost'],
  ])('are recognised by %j', (headers, name, header) => {
    const expected = { name, header: header instanceof RegExp ? expect.stringMatching(header) : header };
    expect(proxiesOf([headWith({}), headWith(headers), headWith(headers)])).toEqual([expected]);
  });

  it('are all named where there are several in a row', () => {
    const via =
      '1.1 a (squid/5.7), 1.1 b (Varnish, 7), 1.1 google, 2.0 own-gateway, 1.1 varnish (Varnish/7.1)';
    expect(proxiesOf([headWith({ server: 'nginx, foo', via })])).toEqual([
      { name: 'nginx', header: 'Server: nginx' },
      { name: 'varnish', header: 'Via: 1.1 b (Varnish, 7)' },
      { name: 'squid', header: 'Via: 1.1 a (squid/5.7)' },
      { name: 'google', header: 'Via: 1.1 google' },
      { name: 'unknown', header: 'Server: foo' },
      { name: 'unknown', header: 'Via: 2.0 own-gateway' },
    ]);
  });

  it('are shown as they are where the doctor does not know them, each once', () => {
    const heads = ['my-nginx-like', 'nginx-like', 'Apache-Coyote/1.1', 'h2o-cloud', 'my-nginx-like'];
    expect(proxiesOf(heads.map((server) => headWith({ server })))).toEqual([
      { name: 'unknown', header: 'Server: my-nginx-like' },
      { name: 'unknown', header: 'Server: nginx-like' },
      { name: 'unknown', header: 'Server: Apache-Coyote/1.1' },
      { name: 'unknown', header: 'Server: h2o-cloud' },
    ]);
    expect(proxiesOf([headWith({ server: '', via: ' , ,' })])).toEqual([]);
  });

  it('get their remedies alone, and all get theirs where none shows itself', () => {
    const seen = proxiesOf([headWith({ server: 'Caddy', 'cf-ray': '1' })]);
    expect(remediesOf('request-header', 'Accept', seen)).toEqual([
      { proxy: 'Cloudflare', text: 'remove the Transform Rule that modifies the request header Accept' },
      { proxy: 'Caddy', text: 'in reverse_proxy: remove header_up Accept and header_up -Accept' },
    ]);
    expect(remediesOf('idle', '', []).map(({ proxy }) => proxy)).toEqual([
      'nginx',
      'Caddy',
      'HAProxy',
      'Envoy',
      'AWS ALB',
      'Cloudflare',
      'Apache',
      'lighttpd',
      'Varnish',
      'Squid',
      'h2o',
      'nghttpx',
      'Traffic Server',
      undefined,
    ]);
  });

  it('get one remedy in words where the doctor knows no setting of them', () => {
    const seen = proxiesOf([headWith({ server: 'foo, Kong/3, nghttpx', via: '1.1 bar' })]);
    expect(remediesOf('compression', '', seen)).toEqual([
      {
        proxy: 'nghttpx',
        text: 'nothing to set: it does not compress streams; look at the next proxy',
      },
      { proxy: 'Kong', text: 'let it not compress text/event-stream' },
      { proxy: 'unknown proxy', text: 'let it not compress text/event-stream' },
    ]);
    const apache = proxiesOf([headWith({ server: 'Apache' })]);
    expect(remediesOf('late-refusals', '', apache)[0]).toEqual({
      proxy: 'Apache',
      text: 'nothing to set: uploads pass at once',
    });
    expect(remediesOf('late-refusals', '', []).map(({ proxy }) => proxy)).toEqual(['lighttpd', undefined]);
  });
});

describe('The proxies of a hostile server', () => {
  let server: Server | undefined;

  afterEach(() => server?.close());

  /** The proxies of an answer with these lines in its head, as bytes of one character each. */
  const seenIn = async (lines: string) => {
    const bytes = Buffer.from(`HTTP/1.1 200 OK\r\n${lines}\r\nContent-Length: 0\r\n\r\n`, 'latin1');
    server = createServer((socket) => socket.once('data', () => socket.end(bytes)));
    await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
    const origin = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const { head } = await exchange(
      { origin, path: '/', headers: {} },
      { method: 'GET', path: '/', limitMs: 60_000 },
    );
    return proxiesOf([head!]);
  };

  it('are those of each line, also if Server is there twice', async () => {
    expect(await seenIn('SERVER: Apache\r\nserver: foo\r\nVIA: 1.1 bar\r\nvia: 1.1 varnish')).toEqual([
      { name: 'apache', header: 'Server: Apache' },
      { name: 'varnish', header: 'Via: 1.1 varnish' },
      { name: 'unknown', header: 'Server: foo' },
      { name: 'unknown', header: 'Via: 1.1 bar' },
    ]);
  });

  it('are seen behind a comment that does not end', async () => {
    expect(await seenIn('Server: foo (bar\r\nServer: nginx')).toEqual([
      { name: 'nginx', header: 'Server: nginx' },
      { name: 'unknown', header: 'Server: foo (bar' },
    ]);
  });

  it('have headers of at most 100 characters, which cannot steer a terminal', async () => {
    const [known, ...others] = await seenIn(`Server: nginx${'x'.repeat(10_000)}\r\nVia: 1.1 caddy\x9b2J`);
    expect(known).toEqual({ name: 'caddy', header: 'Via: 1.1 caddy\ufffd2J' });
    expect(others).toEqual([{ name: 'unknown', header: `Server: nginx${'x'.repeat(86)}…` }]);
    expect(others[0]!.header).toHaveLength(100);
  });

  it('are at most ten of those that the doctor does not know', async () => {
    const via = Array.from({ length: 2_000 }, (_, index) => `1 a${index}`).join(',');
    const seen = await seenIn(`Via: ${via}, 1.1 vm (squid/5.7)`);
    expect(seen.map(({ header }) => header)).toEqual([
      'Via: 1.1 vm (squid/5.7)',
      ...Array.from({ length: 10 }, (_, index) => `Via: 1 a${index}`),
    ]);
  });
});
