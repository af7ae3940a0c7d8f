import {
  type ProxyProgram,
  type RealProxy,
  startApache,
  startH2o,
  startLighttpd,
  startNghttpx,
  startSquid,
  startTrafficServer,
  startVarnish,
  withProxy,
} from './support/real-proxies.js';
import { serve, type SharedService } from './support/service.js';

describe('A proxy in front of the service', () => {
  let service: SharedService;
  const proxies: RealProxy[] = [];

  beforeAll(async () => {
    service = await serve({ ACCESS: 'open', TRUST_PROXY: 'loopback', AGENT: 'echo' });
  });
  afterEach(() => Promise.all(proxies.splice(0).map((proxy) => proxy.stop())));
  afterAll(() => service.stop());

  const STARTERS = {
    apache: startApache,
    lighttpd: startLighttpd,
    varnish: startVarnish,
    squid: startSquid,
    h2o: startH2o,
    nghttpx: startNghttpx,
    trafficserver: startTrafficServer,
  };

  for (const [program, start] of Object.entries(STARTERS) as [ProxyProgram, typeof startApache][])
    withProxy(program, `passes a query on: ${program}`, async () => {
      const proxy = await start(service.url);
      proxies.push(proxy);
      expect(await answerOf(proxy.url)).toEqual([200, expect.stringMatching(/"status":"completed"/)]);
    });
});

async function answerOf(url: string): Promise<[number, string]> {
  const body = JSON.stringify({ parts: [{ type: 'text', text: 'Hello!' }] });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/query`, { method: 'POST', headers, body });
  return [response.status, await response.text()];
}
