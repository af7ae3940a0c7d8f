import type { Head } from './exchange.js';
import { remediesOf } from './fixes.js';
import { proxiesOf } from './proxies.js';

const headWith = (headers: Head['headers']): Head => ({ status: 200, headers, atMs: 1 });

describe('The proxies that show themselves', () => {
  it.each([
    [{ server: 'nginx/1.22.1' }, 'nginx', 'Server: nginx/1.22.1'],
    [{ server: 'openresty' }, 'nginx', 'Server: openresty'],
    [{ server: 'Caddy' }, 'caddy', 'Server: Caddy'],
    [{ via: '1.1 Caddy' }, 'caddy', 'Via: 1.1 Caddy'],
    [{ server: 'istio-envoy' }, 'envoy', 'Server: istio-envoy'],
    [{ 'x-envoy-upstream-service-time': '3' }, 'envoy', 'X-Envoy-Upstream-Service-Time: 3'],
    [{ server: 'cloudflare' }, 'cloudflare', 'Server: cloudflare'],
    [{ 'cf-ray': '8a-FRA' }, 'cloudflare', 'CF-Ray: 8a-FRA'],
    [{ server: 'awselb/2.0' }, 'alb', 'Server: awselb/2.0'],
    [{ 'set-cookie': ['a=b', 'AWSALB=secret'] }, 'alb', 'Set-Cookie'],
  ])('are recognised by %j', (headers, name, header) => {
    expect(proxiesOf([headWith({}), headWith(headers), headWith(headers)])).toEqual([{ name, header }]);
  });

  it('are none where only other servers show themselves', () => {
    expect(proxiesOf([headWith({ server: 'my-nginx-like', via: '1.1 squid' })])).toEqual([]);
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
      undefined,
    ]);
  });
});
