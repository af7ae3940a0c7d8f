import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask, get, request } from '../support/client.js';
import { refusalOf, serve, type SharedService } from '../support/service.js';
import { resultOf, send, WITH_TASKS } from './mcp-host.js';
import { createApiKey } from '../../src/access/index.js';

const MESSAGES = { messages: [{ role: 'user', content: 'Hello' }], model: 'agent' };
const CHAT = { id: 'c1', messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }] };
const TASK = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hello' }] } };
const INPUT = { threadId: 't', runId: 'r', messages: [{ id: '1', role: 'user', content: 'Hello' }] };

describe('Other protocols of the service', () => {
  let service: SharedService | undefined;
  afterEach(async () => {
    await service?.stop();
    service = undefined;
  });
  const statusOf = async (path: string, body: object, headers = {}) =>
    (
      await request(
        service!.url,
        { path, headers: { 'a2a-version': '1.0', ...headers } },
        JSON.stringify(body),
      )
    ).status;
  const statuses = async (prefix = '') => [
    await statusOf(`${prefix}/ai/chat`, CHAT),
    await statusOf(`${prefix}/ag-ui`, INPUT),
    await statusOf(`${prefix}/v1/chat/completions`, MESSAGES),
    await statusOf(`${prefix}/a2a/message:send`, TASK),
  ];

  it.each([
    ['are all there by default', {}, [200, 200, 200, 200]],
    ['are those that PROTOCOLS names', { PROTOCOLS: 'openai, ai-sdk' }, [200, 404, 200, 404]],
    ['are none with PROTOCOLS=none', { PROTOCOLS: 'none' }, [404, 404, 404, 404]],
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
      [200, 200, 200, 200],
      [200, 200, 200, 200],
      [404, 404, 404, 404],
    ]);
  });

  it('have one server of MCP, whose tools are the agents', async () => {
    service = await serve({ AGENTS: 'one=files,two=files', RETENTION_RUN_MS: '5000' });
    const { tools } = await resultOf(await send(service.url, 'tools/list'));
    expect(tools).toMatchObject([{ name: 'one' }, { name: 'two' }]);
    const params = { name: 'two', arguments: { text: 'Hello' } };
    const { content } = await resultOf(await send(service.url, 'tools/call', params));
    expect(content).toMatchObject([
      { type: 'text', text: expect.stringContaining('This agent reads files') },
    ]);
    const { runs } = await (await get(service.url, '/two/query')).json<{ runs: object[] }>();
    expect(runs).toHaveLength(1);
    const task = await resultOf(await send(service.url, 'tools/call', params, { capabilities: WITH_TASKS }));
    expect(task).toMatchObject({ resultType: 'task', ttlMs: 5000 });
  });

  it('count only the calls of MCP as queries, and keep the tasks of each key apart', async () => {
    const [ann, bob] = [createApiKey('ann'), createApiKey('bob')];
    const keys = [ann, bob].map(({ configured }) => `${configured.name}:${configured.sha256}`).join();
    service = await serve({ API_KEYS: keys, QUERIES_PER_MINUTE: '1' });
    const as = ({ key }: { key: string }) => ({
      capabilities: WITH_TASKS,
      headers: { authorization: `Bearer ${key}` },
    });
    const params = { name: 'query', arguments: { text: 'Hello' } };
    expect((await send(service.url, 'tools/list')).status).toBe(401);
    const { taskId } = await resultOf(await send(service.url, 'tools/call', params, as(ann)));
    for (let count = 0; count < 3; count++)
      expect(await resultOf(await send(service.url, 'tasks/get', { taskId }, as(ann)))).toMatchObject({
        taskId,
      });
    expect(await resultOf(await send(service.url, 'tasks/get', { taskId }, as(bob)))).toMatchObject({
      error: { code: -32602 },
    });
    const refused = await send(service.url, 'tools/call', params, as(ann));
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { error: { data: { code: 'rate_limited' } } },
    ]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    const disguised = { ...as(ann), headers: { ...as(ann).headers, 'mcp-method': 'tools/list' } };
    expect((await send(service.url, 'tools/call', params, disguised)).status).toBe(400);
  });

  it('need the keys of the service, and count for its limits', async () => {
    const { key, configured } = createApiKey('ann');
    service = await serve({ API_KEYS: `${configured.name}:${configured.sha256}`, QUERIES_PER_MINUTE: '1' });
    expect(await statuses()).toEqual([401, 401, 401, 401]);
    const headers = { authorization: `Bearer ${key}` };
    expect(await statusOf('/v1/chat/completions', MESSAGES, headers)).toBe(200);
    expect(await statusOf('/ai/chat', CHAT, headers)).toBe(429);
  });

  it('have a card of A2A for each agent, which tells the credentials and needs none [CARD-DISC-001 AUTH-SERVER-002 BIND-EQUIV-004]', async () => {
    const { configured } = createApiKey('ann');
    const directory = await mkdtemp(join(tmpdir(), 'card-'));
    const file = join(directory, 'card.json');
    await writeFile(file, JSON.stringify({ description: 'Reads files.', version: '3.0.0' }));
    service = await serve({
      ...{ AGENTS: 'one=files,two=files', ONE__A2A_CARD_FILE: file },
      API_KEYS: `${configured.name}:${configured.sha256}`,
    });
    const card = async (name: string) =>
      (await get(service!.url, `/${name}/.well-known/agent-card.json`)).json();
    expect(await card('one')).toMatchObject({
      ...{ name: 'one', description: 'Reads files.', version: '3.0.0' },
      supportedInterfaces: [{ url: `${service.url}/one/a2a` }, {}],
      securitySchemes: {
        bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
        apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
      },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }, { schemes: { apiKey: { list: [] } } }],
    });
    expect(await card('two')).toMatchObject({ name: 'two', description: 'two answers messages.' });
    const refused = await request(service.url, { path: '/one/a2a', headers: { 'a2a-version': '1.0' } }, '{}');
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([
      401,
      expect.stringContaining('Bearer'),
    ]);
    expect(await refused.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32000 } });
    await rm(directory, { recursive: true });
  });

  it.each([
    ['/none.json', 'A2A_CARD_FILE names no agent card.\nThe file "/none.json" cannot be read (ENOENT).'],
    ['package-lock.json', 'A2A_CARD_FILE names no agent card.\nlockfileVersion is no member of it.'],
  ])('are refused with the card %s', async (A2A_CARD_FILE, sentence) => {
    const { message, exitCode } = await refusalOf({ A2A_CARD_FILE });
    expect([exitCode, message]).toEqual([1, expect.stringContaining(sentence)]);
  });

  it.each([
    [
      { PROTOCOLS: 'soap' },
      'PROTOCOLS is "soap"; it must be of ai-sdk, ag-ui, openai, a2a, mcp, with commas between them, or "none".',
    ],
    [{ AGENTS: 'mcp=files' }, 'AGENTS has the name "mcp", which is a path of the service. Use another.'],
  ])('are refused with %j', async (environment, sentence) => {
    const { message, exitCode } = await refusalOf(environment);
    expect([exitCode, message]).toEqual([1, expect.stringContaining(sentence)]);
  });
});
