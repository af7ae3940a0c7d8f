import { proxyFor } from './forward-proxy.js';

const HTTP_PROXY = 'http://proxy:3128';

describe('The proxy for an address', () => {
  it.each<[address: string, environment: Record<string, string>, proxy: string | undefined]>([
    ['http://a.example.com', {}, undefined],
    ['http://a.example.com', { HTTP_PROXY }, 'the proxy of HTTP_PROXY, http://proxy:3128'],
    ['https://a.example.com', { HTTP_PROXY }, undefined],
    ['https://a.example.com', { HTTPS_PROXY: 'proxy:1' }, 'the proxy of HTTPS_PROXY, http://proxy:1'],
    ['http://a.example.com', { HTTPS_PROXY: 'proxy:1' }, undefined],
    ['https://a.example.com', { ALL_PROXY: 'https://proxy' }, 'the proxy of ALL_PROXY, https://proxy'],
    [
      'http://a.example.com',
      { HTTP_PROXY, http_proxy: 'lower:1' },
      'the proxy of http_proxy, http://lower:1',
    ],
    ['http://a.example.com', { HTTP_PROXY: '', all_proxy: 'x:1' }, 'the proxy of all_proxy, http://x:1'],
    [
      'http://a.example.com',
      { HTTP_PROXY: 'http://ann:secret@proxy:3128' },
      'the proxy of HTTP_PROXY, http://proxy:3128',
    ],
  ])('of %s with %j is %j', (address, environment, proxy) => {
    expect(proxyFor(new URL(address), environment)?.name).toBe(proxy);
  });

  it.each([
    ['http://127.0.0.1:3000', ''],
    ['http://127.9.9.9', ''],
    ['http://localhost:3000', ''],
    ['http://agent.localhost', ''],
    ['http://[::1]:3000', ''],
    ['http://a.example.com', '*'],
    ['http://a.example.com', 'other.com, a.example.com'],
    ['http://a.example.com', 'EXAMPLE.com'],
    ['http://a.example.com', '.example.com'],
    ['http://a.example.com', '*.example.com'],
    ['http://a.example.com:8080', 'example.com:8080'],
    ['http://a.example.com', 'example.com:80'],
    ['http://10.1.2.3', '10.1.2.3'],
    ['http://10.1.2.3', '192.168.0.0/16 10.0.0.0/8'],
    ['http://[fd00::1]', '[fd00::1]'],
    ['http://[fd00::1]:81', '[fd00::1]:81'],
    ['http://[fd00::1]', 'fd00::/8'],
  ])('is none of %s with NO_PROXY %j', (address, NO_PROXY) => {
    expect(proxyFor(new URL(address), { HTTP_PROXY, NO_PROXY })).toBeUndefined();
  });

  it.each([
    ['http://a.example.com', 'other.com'],
    ['http://badexample.com', 'example.com'],
    ['http://a.example.com', 'example.com:8080'],
    ['http://a.example.com', 'b.a.example.com'],
    ['http://10.1.2.3', '.3, 11.0.0.0/8, 10.0.0.0/99, 10.0.0.0/x, a/8, /'],
    ['http://[fd00::1]', '10.0.0.0/8'],
    ['http://127.example.com', ''],
    ['http://notlocalhost', ''],
  ])('is one of %s with NO_PROXY %j', (address, NO_PROXY) => {
    expect(proxyFor(new URL(address), { HTTP_PROXY, NO_PROXY })?.name).toBe(
      'the proxy of HTTP_PROXY, http://proxy:3128',
    );
  });

  it.each(['socks5://proxy:1080', 'http://', 'not an address', 'http://a:%E0%A4%A@proxy'])(
    'cannot be %j',
    (HTTP_PROXY) => {
      expect(() => proxyFor(new URL('http://a.example.com'), { HTTP_PROXY })).toThrow(/^HTTP_PROXY is /);
    },
  );
});
