import type { DynamicModule } from '@nestjs/common';
import fc from 'fast-check';
import { A2aModule } from 'nest-agent-query-protocols/a2a';
import { AiSdkModule } from 'nest-agent-query-protocols/ai-sdk';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import { type HandlerFunction, message, QueryModule } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, get, request, type Reply } from '../support/client.js';
import { describeOnBothAdapters, type Host, startHost } from '../support/host.js';
import { casesOf } from '../support/long-form.js';

/** The names in the paths of the endpoint and of the views, and members that every object has. */
const OWN_NAMES = [
  ...['query', 'sessions', 'inputs', 'deliveries', 'files', 'usage', 'fork'],
  ...['ai', 'chat', 'stream', 'stop', 'v1', 'conversations', 'items', 'responses', 'input_items', 'cancel'],
  ...['completions', 'models', 'a2a', 'tasks', 'message:send', 'pushNotificationConfigs', ':runId', ':id'],
  ...['constructor', '__proto__', 'toString', 'a/b', 'a%2Fb', '?', '#', '%', '+', ' ', '*', 'null', '...'],
];

/** What a path can have: a segment of dots is another path for every client. Fastify refuses more than 100 characters of it. */
const hasPath = (id: string) => /^(?!\.{1,2}$)[^\p{Cs}]+$/su.test(id) && encodeURIComponent(id).length <= 90;

const handler: HandlerFunction = async function* () {
  yield message('Hello');
};

describeOnBothAdapters('The id of a session on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    const views = [AiSdkModule, OpenAiModule, A2aModule].map((view) => view.forRoot());
    const imports = [QueryModule.forRoot({ handler }), ...views];
    host = await startHost(adapter, { module: class {}, imports } as DynamicModule);
  });
  afterAll(() => host.close());

  const remove = (path: string) => request(host.url, { method: 'DELETE', path });
  const post = (path: string, body: object) => request(host.url, { path }, JSON.stringify(body));
  const statusOf = async (sent: Promise<Reply>) => {
    const reply = await sent;
    await reply.whole();
    return reply.status;
  };

  /** Tries each route on a session with this id, which is forked from another one, and removed in the end. */
  async function tryRoutes(id: string): Promise<void> {
    const name = encodeURIComponent(id);
    const [path, other] = [`/query/sessions/${name}`, `other of ${id}`];
    const asked = await ask(host.url, 'Hi', { kwargs: { session_id: other } });
    await asked.whole();
    const from = `/query/sessions/${encodeURIComponent(other)}/fork`;
    const made = await post(from, { afterTurn: 1, session_id: id });
    expect([made.status, (await made.json())['id']]).toEqual([201, id]);
    await (await ask(host.url, 'Hi again', { kwargs: { session_id: id } })).whole();
    const located = await get(host.url, made.headers.location!);
    expect(await located.json()).toMatchObject({ id, turns: [{ text: 'Hello' }, { text: 'Hello' }] });
    const again = await post(`${path}/fork`, { afterTurn: 2 });
    expect([again.status, (await again.json())['turns']]).toEqual([201, 2]);
    expect(await statusOf(remove(again.headers.location!))).toBe(204);
    const ofSession = await (await get(host.url, `/query?session=${name}`)).json<{ runs: unknown[] }>();
    expect(ofSession.runs).toHaveLength(1);

    expect(await statusOf(get(host.url, `/ai/chat/${name}/stream`))).toBe(204);
    expect(await statusOf(post(`/ai/chat/${name}/stop`, {}))).toBe(204);
    expect(await (await get(host.url, `/v1/conversations/${name}`)).json()).toMatchObject({ id });
    const items = await (await get(host.url, `/v1/conversations/${name}/items`)).json<{ data: unknown[] }>();
    expect(items.data).toHaveLength(4);
    const version = { 'a2a-version': '1.0' };
    const tasks = await (await get(host.url, `/a2a/tasks?contextId=${name}`, version)).json();
    expect(tasks['totalSize']).toBe(1);

    const removals = [
      remove(`/v1/conversations/${name}`),
      remove(`/query/sessions/${encodeURIComponent(other)}`),
    ];
    expect(await Promise.all(removals.map(statusOf))).toEqual([200, 204]);
    expect(await statusOf(get(host.url, path))).toBe(404);
    expect(await statusOf(remove(path))).toBe(404);
  }

  it(promise('session.every-route'), async () => {
    const ids = fc.string({ unit: 'grapheme', maxLength: 20 }).filter(hasPath);
    await fc.assert(fc.asyncProperty(ids, tryRoutes), {
      examples: OWN_NAMES.map((name) => [name]),
      numRuns: OWN_NAMES.length + casesOf(10),
      endOnFailure: true,
    });
  });
});
