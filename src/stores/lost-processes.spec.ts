import pg from 'pg';
import { PostgresProxy } from '../../test/chaos/postgres-proxy.mjs';
import { codeOf, ids, keptAnswer } from '../../packages/store-contract/src/opened-store.js';
import { eventually } from '../../test/support/conditions.js';
import {
  admit,
  admitTo,
  CANCELLED,
  COMPLETED,
  DONE,
  find,
  logOf,
  type Member,
  postgresStores,
  restartedOf,
  sessionOf,
  take,
  textOf,
} from '../../test/support/postgres-stores.js';
import type { QueryError, RunRecord } from '../query/index.js';

/** Short, so that a lease that has to end does so soon; long enough for a busy machine. */
const LEASE_MS = 1_000;
/** For a process that nobody but its successor watches. */
const SHORT_LEASE_MS = 100;

const stores = postgresStores();
const leases = () =>
  stores.administer<{ heartbeat: string }>(`select heartbeat from ${stores.schema}.processes`);
/** How many heartbeats the process has sent that has sent most. */
const heartbeats = async () => Math.max(...(await leases()).map(({ heartbeat }) => Number(heartbeat)));

/** Asks again when the answer is that the database cannot be reached: the heartbeat under way may just have taken too long. */
async function untilReached<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if ((error as QueryError).code !== 'unavailable') throw error;
    }
  }
}

describe('The processes that are left when one has crashed', () => {
  it('recover each of its runs once, and end those that have no attempt left', async () => {
    const crashed = await stores.open({ leaseMs: LEASE_MS });
    const runs: RunRecord[] = [];
    for (let i = 0; i < 30; i++) {
      const run = await admit(crashed, i % 3 === 0 ? { session: sessionOf(`${i}`) } : {});
      runs.push(run);
      await crashed.store.append(run, textOf(`${i}`));
    }
    // Every second run has used its attempts.
    for (const [index, run] of runs.entries()) {
      if (index % 2 === 0) continue;
      await crashed.store.handOver(run);
      [runs[index]] = (await take(crashed)) as [RunRecord];
    }
    await stores.administer(`update ${stores.schema}.runs set lost = 1 where attempt = 2`);
    await crashed.crash();
    const others = [
      await stores.open({ leaseMs: LEASE_MS, restarts: 1 }),
      await stores.open({ leaseMs: LEASE_MS, restarts: 1 }),
    ] as const;
    const recovered = () => others.flatMap(({ told }) => told.recovered);
    await eventually(() => recovered().length >= runs.length);
    expect(recovered().sort()).toEqual(ids(runs).sort());
    for (const [index, run] of runs.entries()) {
      const log = await logOf(others[0], run);
      expect(log.slice(0, 2)).toEqual([textOf(`${index}`), restartedOf(2, 0)]);
      expect(log).toHaveLength(index % 2 ? 3 : 2);
      if (index % 2) expect(JSON.parse(log[2]!)).toMatchObject({ data: { error: { code: 'interrupted' } } });
      expect(await find(others[1], run)).toMatchObject(
        index % 2 ? { status: 'failed', attempt: 2 } : { status: 'waiting', attempt: 2 },
      );
    }
    expect(others.every(({ told }) => told.lost.length === 0)).toBe(true);
    expect(await take(others[0])).toHaveLength(15);
  });

  it('take its runs at once if it was stopped in order', async () => {
    const stopped = await stores.open();
    const waiting = await admit(stopped, { mayStart: false });
    const executing = await admit(stopped);
    await stopped.store.close();
    const other = await stores.open();
    expect(await find(other, executing)).toMatchObject({ end: { error: { code: 'interrupted' } } });
    expect(ids(await take(other))).toEqual([waiting.id]);
  });
});

describe('A process that is cut off from the database for longer than its lease', () => {
  let proxy: PostgresProxy;
  let frozen: Member;
  let other: Member;
  beforeEach(async () => {
    proxy = await PostgresProxy.start(stores.url);
    frozen = await stores.open({ url: proxy.url, leaseMs: LEASE_MS, restarts: 1 });
    other = await stores.open({ leaseMs: LEASE_MS, restarts: 1 });
  });
  afterEach(async () => {
    proxy.release();
    await stores.reset();
    await proxy.close();
  });
  const freeze = () => proxy.hold();
  const thaw = () => proxy.release();

  it('loses its runs, is told so, and executes others under a new lease', async () => {
    const run = await admit(frozen);
    await frozen.store.append(run, textOf('before'));
    freeze();
    await eventually(() => other.told.recovered.length > 0);
    expect(other.told.recovered).toEqual([run.id]);
    expect(frozen.told.lost).toEqual([]);
    const late = frozen.store.append(run, textOf('late'));
    thaw();
    await expect(late).rejects.toMatchObject({ code: 'interrupted' });
    await eventually(() => frozen.told.lost.length > 0);
    expect(frozen.told.lost).toEqual([run.id]);
    // The old attempt has no effect any more.
    await frozen.store.append(run, textOf('later'));
    expect(await codeOf(() => frozen.store.saveCheckpoint(run, '1'))).toBe('interrupted');
    expect(await frozen.store.handOver(run)).toBe(false);
    expect(await frozen.store.end(run, COMPLETED, keptAnswer())).toBeUndefined();
    for (const member of [frozen, other]) {
      expect(await find(member, run)).toMatchObject({ status: 'waiting', attempt: 2 });
      expect(await logOf(member, run)).toEqual([textOf('before'), restartedOf(2, 0)]);
    }

    // It may execute the same run again.
    const [again] = await take(frozen);
    expect(again).toMatchObject({ id: run.id, attempt: 2 });
    expect(await frozen.store.end(run, CANCELLED, keptAnswer())).toBeUndefined();
    await frozen.store.append(again!, textOf('after'));
    await frozen.store.end(again!, COMPLETED, keptAnswer());
    expect(await logOf(other, run)).toEqual([textOf('before'), restartedOf(2, 0), textOf('after'), DONE]);
    const fresh = await admit(frozen);
    expect(fresh.status).toBe('running');
    expect((await frozen.store.end(fresh, COMPLETED, keptAnswer()))!.run.status).toBe('completed');
    expect(other.told.recovered).toEqual([run.id]);
  });

  it('ends no run that another process has started again meanwhile', async () => {
    const run = await admitTo(frozen, 's');
    freeze();
    await eventually(() => other.told.recovered.length > 0);
    const [again] = await take(other);
    expect(again).toMatchObject({ id: run.id, attempt: 2 });
    const late = frozen.store.end(run, CANCELLED, keptAnswer('late'));
    thaw();
    expect(await late).toBeUndefined();
    expect(await find(frozen, run)).toMatchObject({ status: 'running', attempt: 2 });
    await other.store.append(again!, textOf('a'));
    await other.store.end(again!, COMPLETED, keptAnswer('a'));
    expect(await logOf(frozen, run)).toEqual([restartedOf(2, 0), textOf('a'), DONE]);
    expect(await frozen.store.turns('anonymous', 's', { after: 0, limit: 9 })).toMatchObject({
      turns: [{ text: 'a' }],
    });
  });

  it('ends no run whose last envelopes came too late', async () => {
    const run = await admit(frozen);
    freeze();
    await eventually(() => other.told.recovered.length > 0);
    const [again] = await take(other);
    const late = codeOf(() => frozen.store.append(run, textOf('late')));
    const end = frozen.store.end(run, COMPLETED, keptAnswer('late'));
    thaw();
    expect([await late, await end]).toEqual(['interrupted', undefined]);
    await other.store.end(again!, COMPLETED, keptAnswer());
    expect(await logOf(frozen, run)).toEqual([restartedOf(2, 0), DONE]);
  });

  it('ends no run between the end of its lease and the recovery of its runs', async () => {
    const lost = [await admit(frozen), await admitTo(frozen, 's')];
    const { schema } = stores;
    const lease = `(select process from ${schema}.runs where id = '${lost[0]!.id}')`;
    const administrator = new pg.Client({ connectionString: stores.url });
    await administrator.connect();
    await administrator.query('begin');
    await administrator.query(`delete from ${schema}.processes where id = ${lease}`);
    // A heartbeat, which would tell the process that it has lost its runs, waits for the end of the transaction.
    const late = lost.map((run) => codeOf(() => frozen.store.append(run, textOf('late'))));
    const ends = lost.map((run) => frozen.store.end(run, COMPLETED, keptAnswer('late')));
    await administrator.query('commit');
    await administrator.end();
    expect([await Promise.all(late), await Promise.all(ends)]).toEqual([
      ['interrupted', 'interrupted'],
      [undefined, undefined],
    ]);
    await eventually(() => other.told.recovered.length + frozen.told.recovered.length === 2);
    for (const run of lost) expect(await logOf(other, run)).toEqual([restartedOf(2, 0)]);
  });

  it('starts nothing under the lease that has ended', async () => {
    const waiting = await admit(other, { mayStart: false });
    freeze();
    await eventually(async () => (await leases()).length === 1);
    // What it asks for now arrives when its lease has ended long ago.
    const [taken, admitted] = [untilReached(() => take(frozen)), untilReached(() => admit(frozen))];
    thaw();
    expect(ids(await taken)).toEqual([waiting.id]);
    const runs = [(await taken)[0]!, await admitted];
    const before = await heartbeats();
    await eventually(async () => (await heartbeats()) > before + 2);
    for (const run of runs) {
      expect(run).toMatchObject({ status: 'running', attempt: 1 });
      expect((await frozen.store.end(run, COMPLETED, keptAnswer()))!.run.status).toBe('completed');
    }
    expect(other.told.recovered).toEqual([]);
  });
});

describe('A process whose connections to the database stop answering without a sign', () => {
  it('keeps its runs, and answers on new connections', async () => {
    const proxy = await PostgresProxy.start(stores.url);
    const struck = await stores.open({ url: proxy.url, leaseMs: LEASE_MS });
    const other = await stores.open({ leaseMs: LEASE_MS });
    const run = await admit(struck);
    const list = () => struck.store.runs('anonymous', { after: undefined, limit: 9 });
    // So that there are several connections, that of the heartbeat too, and some are in use when they stop answering.
    await Promise.all(Array.from({ length: 5 }, list));
    await eventually(async () => (await heartbeats()) > 0);
    const asked = [codeOf(list), codeOf(list)];
    expect(proxy.silencePools()).toBeGreaterThan(3);
    const appended = struck.store.append(run, textOf('late'));
    expect(await Promise.all(asked)).toEqual(['unavailable', 'unavailable']);
    expect((await list()).runs).toHaveLength(1);
    await appended;
    await struck.store.end(run, COMPLETED, keptAnswer());
    expect(await logOf(other, run)).toEqual([textOf('late'), DONE]);
    expect([...struck.told.lost, ...other.told.recovered]).toEqual([]);
    await stores.reset();
    await proxy.close();
  });
});

describe('A checkpoint', () => {
  const KINDS = ['cut', 'lost'];
  it.each(KINDS)(
    'is stored with what was appended before, or not at all, if the process dies: %s',
    async (kind) => {
      const proxy = await PostgresProxy.start(stores.url);
      const seen = new Set<string>();
      for (let at = 1; at <= 5; at++) {
        const dying = await stores.open({ url: proxy.url, leaseMs: SHORT_LEASE_MS });
        const run = await admit(dying);
        await dying.store.append(run, textOf('first '));
        await dying.store.saveCheckpoint(run, '1');
        proxy.arm({ kind, at, periodMs: 60_000 });
        // The end of the process is not waited for: nothing that it asks for is answered any more.
        Promise.resolve(dying.store.append(run, textOf('second '))).catch(() => undefined);
        dying.store.saveCheckpoint(run, '2').catch(() => undefined);
        await eventually(() => proxy.injected > 0);
        proxy.arm(undefined);
        await dying.crash();
        const other = await stores.open({ leaseMs: SHORT_LEASE_MS, restarts: 1 });
        await eventually(() => other.told.recovered.length > 0);
        const { answer, checkpoint } = await other.store.query(run);
        seen.add(`${answer.text}${checkpoint}`);
        const [again] = await take(other);
        await other.store.end(again!, COMPLETED, keptAnswer());
        await other.store.close();
      }
      await proxy.close();
      expect(['first 1', 'first second 2']).toEqual(expect.arrayContaining([...seen]));
      expect(seen).toContain('first 1');
    },
  );
});
