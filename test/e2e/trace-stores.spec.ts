import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HandlerFunction, MemoryRunStore, message, type RunStore } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { promise } from '../promises.js';
import { ask, follow, type Reply } from '../support/client.js';
import { deferred } from '../support/conditions.js';
import type { Host } from '../support/host.js';
import { STORE_KINDS, type StoreKind } from '../support/long-form.js';
import { openDatabase, type TestDatabase } from '../support/postgres.js';
import { idOf, linksOf, parentOf, Spans, traceparentOf } from '../support/spans.js';
import { RUN_SPAN, startTraced, step, USAGE } from '../support/traced-host.js';

const tick = () => new Promise((resolve) => setImmediate(resolve));

let server: TestDatabase;
let directory: string;
let stores = 0;
let spans: Spans;
let host: Host | undefined;
beforeAll(async () => {
  server = await openDatabase();
  directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-traces-'));
});
beforeEach(() => {
  stores++;
  spans = Spans.start();
});
afterEach(async () => {
  await host?.close();
  host = undefined;
  await spans.stop();
});
afterAll(async () => {
  await server.close();
  await rm(directory, { recursive: true });
});

/** The stores, each with what opens the store of a test. */
const STORES: Record<StoreKind, () => Promise<RunStore>> = {
  memory: async () => new MemoryRunStore(),
  file: () => openStore(`file:${directory}/${stores}.db`),
  postgres: () => openStore(`${server.url}?schema=traces_${stores}`),
};

it.each(STORE_KINDS)(promise('traces.run', 'its store is %s'), async (kind) => {
  const handler = async function* () {
    yield message('1');
    await tick();
    step('step');
  };
  host = await startTraced('express', handler, { store: await STORES[kind]() });
  const caller = traceparentOf(1);
  const replies: Reply[] = [];
  for (const session_id of [undefined, 's', 's'])
    replies.push(
      await ask(host.url, 'Hello', {
        kwargs: { session_id },
        headers: { traceparent: caller.traceparent },
      }),
    );
  for (const reply of replies) await reply.whole();
  const runs = await spans.named(RUN_SPAN, 3);
  expect(runs.map(parentOf)).toEqual(runs.map(() => caller.spanId));
  const executions = await spans.named('execute_run', 3);
  expect(executions.map(parentOf).sort()).toEqual(runs.map(idOf).sort());
  const steps = await spans.named('step', 3);
  expect(steps.map(parentOf).sort()).toEqual(executions.map(idOf).sort());
  const resumed = await follow(host.url, replies[0]!.runId);
  await resumed.whole();
  const first = runs.find((span) => span.attributes['nest_agent_query.run.id'] === replies[0]!.runId);
  expect(linksOf(await spans.only('resume_run'))).toEqual([idOf(first!)]);
});

it.each(['file', 'postgres'] as const)(promise('traces.attempts', 'its store is %s'), async (store) => {
  const entered = deferred();
  const handler = Object.assign(
    async function* (_: unknown, { resumed, signal }: Parameters<HandlerFunction>[1]) {
      step(`step ${resumed?.attempt ?? 1}`);
      yield USAGE;
      if (resumed) return;
      entered.resolve();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
    { restarts: 1 },
  );
  host = await startTraced('fastify', handler, { store: await STORES[store]() });
  const caller = traceparentOf(1);
  const reply = await ask(host.url, 'Hello', { headers: { traceparent: caller.traceparent } });
  await entered.promise;
  reply.cut();
  await host.close();
  const run = await spans.only(RUN_SPAN);
  expect(parentOf(run)).toBe(caller.spanId);
  expect(run.attributes).not.toHaveProperty(['nest_agent_query.run.status']);

  host = await startTraced('fastify', handler, { store: await STORES[store]() });
  await (await follow(host.url, reply.runId)).whole();
  const [first, second] = await spans.named('execute_run', 2);
  expect([parentOf(first!), parentOf(second!)]).toEqual([idOf(run), idOf(run)]);
  expect(second!.attributes).toEqual({
    'nest_agent_query.run.id': reply.runId,
    'nest_agent_query.run.attempt': 2,
    'nest_agent_query.run.status': 'completed',
    'gen_ai.usage.input_tokens': 5,
    'gen_ai.usage.output_tokens': 7,
  });
  expect(parentOf(await spans.only('step 1'))).toBe(idOf(first!));
  expect(parentOf(await spans.only('step 2'))).toBe(idOf(second!));
  expect(linksOf(await spans.only('resume_run'))).toEqual([idOf(run)]);
  expect(await spans.named(RUN_SPAN)).toHaveLength(1);
});
