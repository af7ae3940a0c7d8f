import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { of } from 'rxjs';
import { RedisRunStore, type RedisRunStoreOptions } from '../examples/redis-store/redis-run-store.js';
import { message } from '../src/index.js';
import { describeRunStore } from 'nest-agent-query-store-contract';
import {
  admissionOf,
  codeOf,
  eventsOf,
  keptAnswer,
  readAll,
} from '../packages/store-contract/src/opened-store.js';
import { SHARE_OF_CASES } from './support/long-form.js';
import { eventuallyElsewhere } from './support/conditions.js';
import { ask, follow, FULL, get } from './support/client.js';
import { ONE_ADAPTER, startAgent } from './support/host.js';
import { NO_REDIS, startRedis } from './support/redis.js';

const describeWithRedis = NO_REDIS === '' ? describe : describe.skip;

/** A busy machine may stop this process for a while. It must not lose its lock by that. */
const LOCK_MS = 1_000;

describeWithRedis('The example of a store on Redis', () => {
  let server: Awaited<ReturnType<typeof startRedis>>;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.kill());

  const storeOf = (options: RedisRunStoreOptions = {}) => new RedisRunStore(server.url, options);

  describeRunStore(
    'RedisRunStore',
    async ({ retention, events }) => {
      const administrator = new Redis(server.url);
      let store = storeOf({ retention });
      await store.open(events);
      return {
        store,
        sweep: () => store.sweep(),
        restart: async (told) => {
          store.crash();
          // Its lock has expired.
          await administrator.del('lock');
          store = storeOf({ retention });
          await store.open(told);
          return store;
        },
        close: async () => {
          await store.close();
          await administrator.flushall();
          administrator.disconnect();
        },
      };
    },
    {
      cases: SHARE_OF_CASES,
      without: {
        changesSessions: 'The example keeps what lists of turns need, and no more.',
        deliveries: 'nobody wants webhooks here.',
        erasesRuns: 'The example erases sessions only.',
        files: 'Redis is no place for large files.',
        inputs: 'runs do not ask here.',
        lengthLimits: 'Redis has limits of its own.',
        logLength: 'It is not counted.',
        ownerLimits: 'The example has no rounds of owners.',
        uploads: 'Redis is no place for large files.',
        usage: 'The example adds nothing up.',
      },
    },
  );

  it('refuses queries while Redis is away, and keeps what a run emits until Redis is back', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-redis-'));
    let own = await startRedis(undefined, directory);
    const { port } = own;
    const store = new RedisRunStore(own.url);
    await store.open(eventsOf());
    const session = { id: 's', policy: 'enqueue' as const, maxWaiting: 9 };
    const { run } = await store.admit(admissionOf({ session }));
    await own.kill();
    await eventuallyElsewhere(async () => (await codeOf(() => store.check())) === 'unavailable');
    expect(await codeOf(() => store.admit(admissionOf()))).toBe('unavailable');
    const appended = store.append(run, '{"type":"log"}');
    const ended = store.end(run, { status: 'completed' }, keptAnswer());
    own = await startRedis(port, directory);
    await eventuallyElsewhere(async () => (await codeOf(() => store.check())) !== 'unavailable');
    await appended;
    expect((await ended)!.run.status).toBe('completed');
    expect(await readAll(store, run)).toEqual([
      '{"type":"log"}',
      '{"type":"done","data":{"status":"completed"}}',
    ]);
    expect((await store.turns('anonymous', 's', { after: 0, limit: 1 }))!.total).toBe(1);
    await store.close();
    await own.kill();
    await rm(directory, { recursive: true });
  });

  it('keeps the sessions and runs of a service that is started again', async () => {
    const start = () => startAgent(ONE_ADAPTER, () => of(message('Hello')), { store: storeOf() });
    let host = await start();
    const asked = await ask(host.url, 'Hi', { kwargs: { session_id: 's' }, headers: FULL });
    expect(await asked.answer()).toEqual({ text: 'Hello', done: [{ status: 'completed' }] });
    await host.close();
    host = await start();
    const { runs } = await (await get(host.url, '/query')).json<{ runs: { id: string }[] }>();
    expect(runs).toMatchObject([{ id: asked.runId, status: 'completed' }]);
    expect((await (await follow(host.url, asked.runId, FULL)).answer()).text).toBe('Hello');
    expect(await (await get(host.url, '/query/sessions/s')).json()).toMatchObject({
      turns: [{ runId: asked.runId, text: 'Hello' }],
    });
    await host.close();
  });

  it('stops the runs of a process that has lost its lock, and writes nothing more', async () => {
    const store = storeOf({ lockMs: LOCK_MS });
    const lost: string[] = [];
    await store.open(eventsOf({ lost: (runId) => lost.push(runId) }));
    const { run } = await store.admit(admissionOf());
    const administrator = new Redis(server.url);
    await administrator.set('lock', 'another process');
    await eventuallyElsewhere(() => lost.length > 0);
    expect(lost).toEqual([run.id]);
    expect(await codeOf(() => store.admit(admissionOf()))).toBe('unavailable');
    await store.append(run, '{"type":"log"}');
    expect(await administrator.llen(`log:${run.id}`)).toBe(0);
    await store.close();
    await administrator.flushall();
    administrator.disconnect();
  });

  it('is used by one process at a time', async () => {
    const first = storeOf({ lockMs: LOCK_MS });
    await first.open(eventsOf());
    const second = storeOf({ lockMs: LOCK_MS });
    await expect(second.open(eventsOf())).rejects.toThrow('Another process uses this Redis database.');
    await second.close();
    await first.close();
  });

  it('is opened when the lock of a process that has crashed has expired', async () => {
    const crashed = storeOf({ lockMs: LOCK_MS });
    await crashed.open(eventsOf());
    crashed.crash();
    const next = storeOf({ lockMs: LOCK_MS });
    await next.open(eventsOf());
    expect((await next.admit(admissionOf())).created).toBe(true);
    await next.close();
  });
});
