import { createApiKey } from '../../src/access/index.js';
import { get } from '../support/client.js';
import { refusalOf, serve, type SharedService } from '../support/service.js';

describe('GET / of the service', () => {
  let service: SharedService | undefined;
  afterEach(async () => {
    await service?.stop();
    service = undefined;
  });

  const { configured } = createApiKey('ann');
  const API_KEYS = `${configured.name}:${configured.sha256}`;
  const CREDENTIALS = { HOST: '0.0.0.0', API_KEYS };

  it.each([
    ['shows the page on a loopback address', {}, 200],
    ['shows the page on a loopback address, also where the endpoint needs a key', { API_KEYS }, 200],
    ['is not there with PLAYGROUND=off', { PLAYGROUND: 'off' }, 404],
    ['is not there on other addresses', CREDENTIALS, 404],
    ['is not there on other addresses that are open', { HOST: '0.0.0.0', ACCESS: 'open' }, 404],
    ['shows the page on other addresses with PLAYGROUND=on', { ...CREDENTIALS, PLAYGROUND: 'on' }, 200],
  ])('%s', async (_, environment, status) => {
    service = await serve(environment);
    const reply = await get(service.url.replace('0.0.0.0', '127.0.0.1'), '/');
    expect(reply.status).toBe(status);
    expect(service.output().includes('  page    http://127.0.0.1:')).toBe(status === 200);
    if (status === 200) {
      expect(reply.headers['content-security-policy']).toContain("script-src 'self'");
      expect(reply.headers['x-frame-options']).toBe('DENY');
      const html = await reply.whole();
      expect(html).toContain('<meta name="endpoints" content="./query" />');
      expect(html).toContain('<meta name="agent" content="files" />');
    }
  });

  it('shows the page for all of several agents', async () => {
    service = await serve({ AGENTS: 'one=files,two=files' });
    const html = await (await get(service.url, '/')).whole();
    expect(html).toContain('<meta name="endpoints" content="./one/query ./two/query" />');
    expect(html).toContain('<meta name="agent" content="" />');
  });

  it('has the name of a file as that of its agent', async () => {
    service = await serve({ AGENT: './examples/agent.mjs' });
    expect(await (await get(service.url, '/')).whole()).toContain('<meta name="agent" content="agent" />');
  });

  it.each([
    [{ PLAYGROUND: 'yes' }, 'PLAYGROUND is "yes"; it must be "on" or "off".'],
    [
      { PLAYGROUND: 'on', ROLE: 'worker', DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
      'PLAYGROUND=on has no effect with ROLE=worker, which has no endpoint. Unset one of them.',
    ],
    [
      { AGENTS: 'assets=files' },
      'AGENTS has the name "assets", which is a path of the service. Use another.',
    ],
    [
      { AGENTS: 'one=files', ONE__PLAYGROUND: 'on' },
      'ONE__PLAYGROUND has no effect: PLAYGROUND is the same for all agents. Set PLAYGROUND, or unset it.',
    ],
  ])('is refused with %j', async (environment, sentence) => {
    const { message, exitCode } = await refusalOf(environment);
    expect([exitCode, message]).toEqual([1, expect.stringContaining(sentence)]);
  });
});
