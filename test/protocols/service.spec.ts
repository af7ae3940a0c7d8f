import { ask, get, request } from '../support/client.js';
import { refusalOf, serve, type SharedService } from '../support/service.js';
import { createApiKey } from '../../src/access/index.js';

const MESSAGES = { messages: [{ role: 'user', content: 'Hello' }], model: 'agent' };
const CHAT = { id: 'c1', messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }] };
const INPUT = { threadId: 't', runId: 'r', messages: [{ id: '1', role: 'user', content: 'Hello' }] };

describe('Other protocols of the service', () => {
  let service: SharedService | undefined;
  afterEach(async () => {
    await service?.stop();
    service = undefined;
  });
  const statusOf = async (path: string, body: object, headers = {}) =>
    (await request(service!.url, { path, headers }, JSON.stringify(body))).status;
  const statuses = async (prefix = '') => [
    await statusOf(`${prefix}/ai/chat`, CHAT),
    await statusOf(`${prefix}/ag-ui`, INPUT),
    await statusOf(`${prefix}/v1/chat/completions`, MESSAGES),
  ];

  it.each([
    ['are all there by default', {}, [200, 200, 200]],
    ['are those that PROTOCOLS names', { PROTOCOLS: 'openai, ai-sdk' }, [200, 404, 200]],
    ['are none with PROTOCOLS=none', { PROTOCOLS: 'none' }, [404, 404, 404]],
  ])('%s', async (_, environment, expected) => {
    service = await serve(environment);
    expect(await statuses()).toEqual(expected);
  });

  it('answer as the agent of the service does', async () => {
    service = await serve({});
    const { text } = await (await ask(service.url, 'Hello')).answer();
    const reply = await request(service.url, { path: '/v1/chat/completions' }, JSON.stringify(MESSAGES));
    const { choices } = await reply.json<{ choices: { message: { content: string } }[] }>();
    expect(choices[0]!.message.content).toBe(text);
    expect(text).toContain('This agent reads files');
    const { runs } = await (await get(service.url, '/query')).json<{ runs: object[] }>();
    expect(runs).toHaveLength(2);
  });

  it('are beside each of several agents', async () => {
    service = await serve({ AGENTS: 'one=files,two=files' });
    expect([await statuses('/one'), await statuses('/two'), await statuses()]).toEqual([
      [200, 200, 200],
      [200, 200, 200],
      [404, 404, 404],
    ]);
  });

  it('need the keys of the service, and count for its limits', async () => {
    const { key, configured } = createApiKey('ann');
    service = await serve({ API_KEYS: `${configured.name}:${configured.sha256}`, QUERIES_PER_MINUTE: '1' });
    expect(await statuses()).toEqual([401, 401, 401]);
    const headers = { authorization: `Bearer ${key}` };
    expect(await statusOf('/v1/chat/completions', MESSAGES, headers)).toBe(200);
    expect(await statusOf('/ai/chat', CHAT, headers)).toBe(429);
  });

  it.each([
    [
      { PROTOCOLS: 'soap' },
      'PROTOCOLS is "soap"; it must be of ai-sdk, ag-ui, openai, with commas between them, or "none".',
    ],
    [{ AGENTS: 'v1=files' }, 'AGENTS has the name "v1", which is a path of the service. Use another.'],
  ])('are refused with %j', async (environment, sentence) => {
    const { message, exitCode } = await refusalOf(environment);
    expect([exitCode, message]).toEqual([1, expect.stringContaining(sentence)]);
  });
});
