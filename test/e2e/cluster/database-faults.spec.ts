import { ask, cancel, get } from '../../support/client.js';
import { eventuallyElsewhere } from '../../support/conditions.js';
import type { Caller } from '../../support/cluster/caller.js';
import { PostgresProxy } from '../../chaos/postgres-proxy.mjs';
import type { Cluster } from '../../support/cluster/cluster.js';
import type { Member } from '../../support/cluster/member.js';
import { clusterSuite } from '../../support/cluster/suite.js';
import { CONNECTIONS_OF_SERVICE, occupyConnections } from '../../support/postgres.js';
import { promise } from '../../promises.js';

const COMPLETED = { status: 'completed' };

describe('Several processes, when Postgres fails', () => {
  const suite = clusterSuite(
    // Their clocks differ by 20 minutes.
    { a: { clockMs: -600_000 }, b: { clockMs: 600_000 } },
    { leaseMs: 4_000, postgres: { poolSize: 4, connectTimeoutMs: 1_000 } },
    ['max_connections = 30', 'superuser_reserved_connections = 1'],
  );
  let cluster: Cluster;
  let a: Member;
  let b: Member;

  beforeEach(() => {
    ({ cluster } = suite);
    [a, b] = [cluster.member('a'), cluster.member('b')];
  });

  /** Runs on both processes that have sent something, each with a follower on the other. They end after a gate opens. */
  async function running(gate: string): Promise<Caller[]> {
    const steps = [{ emit: 3 }, { gate }, { emit: 50, everyMs: 10 }];
    const asked = [cluster.ask([a, b], { steps, session: gate }), cluster.ask([b, a], { steps })];
    await Promise.all(asked.map((caller) => caller.until('"3 "')));
    const followers = [cluster.follow(b, asked[0]!.runId!), cluster.follow(a, asked[1]!.runId!)];
    await Promise.all(followers.map((caller) => caller.until('"3 "')));
    return [...asked, ...followers];
  }

  async function expectCompleted(callers: Caller[]): Promise<void> {
    await Promise.all(callers.map(({ ended }) => ended));
    for (const { end, contents } of callers) {
      expect(end).toEqual(COMPLETED);
      expect(contents).toHaveLength(53);
    }
  }

  it.each(['fast', 'immediate'] as const)(promise('cluster.database-restart', '%s'), async (mode) => {
    const callers = await running(mode);
    cluster.gates.open(mode);
    await callers[0]!.until('"10 "');
    await (mode === 'fast' ? suite.server.stop() : suite.server.kill());
    const refused = await ask(a.url);
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '2']);
    await suite.server.start();
    await expectCompleted(callers);
    expect(callers.flatMap(({ cuts }) => cuts)).toEqual([]);
  });

  it(promise('cluster.database-connections'), async () => {
    const callers = await running('connections');
    cluster.gates.open('connections');
    await callers[0]!.until('"5 "');
    const release = await occupyConnections(suite.server.url);
    const ready = await get(a.url, '/health/ready');
    await release();
    expect(ready.status).toBe(503);
    await expectCompleted(callers);
  });

  it(promise('cluster.signals-lost'), async () => {
    const callers = await running('signals');
    // What the connections for signals have sent last.
    const listening = `${CONNECTIONS_OF_SERVICE} and query ~ '^(listen|select pg_notify|select 1)'`;
    const before = await cluster.select(`select pg_terminate_backend(pid) ${listening}`);
    expect(before).toHaveLength(2);
    cluster.gates.open('signals');
    await expectCompleted(callers);
    await eventuallyElsewhere(async () => (await cluster.select(`select pid ${listening}`)).length === 2);
  });

  it(promise('cluster.signals-lost', 'without a sign'), async () => {
    const proxy = await PostgresProxy.start(suite.server.url);
    const c = await cluster.add('c', { database: proxy.url });
    const asked = cluster.ask(a, { steps: [{ emit: 3 }, { gate: 'silent' }, { emit: 50, everyMs: 10 }] });
    const follower = cluster.follow(c, await asked.admitted());
    const unwanted = cluster.ask(c, { steps: [{ emit: 3 }, { gate: 'never' }] });
    await Promise.all([follower.until('"3 "'), unwanted.until('"3 "')]);
    expect(proxy.silenceListeners()).toBe(1);
    const cancelled = await cancel(b.url, unwanted.runId!);
    expect(await cancelled.json()).toMatchObject({ status: 'cancelled' });
    cluster.gates.open('silent');
    await expectCompleted([asked, follower]);
    expect(follower.cuts).toEqual([]);
    expect(await c.stop()).toBe(0);
    await proxy.close();
  });

  it(promise('cluster.clocks'), async () => {
    const [{ now }] = (await cluster.select<{ now: Date }>('select now()')) as [{ now: Date }];
    const asked: Caller[] = [];
    for (const member of [a, b, a, b]) {
      const caller = cluster.ask(member, { session: 'clocks', steps: [{ turns: 1 }] });
      await caller.admitted();
      asked.push(caller);
    }
    await Promise.all(asked.map(({ ended }) => ended));
    expect(asked.map(({ contents }) => (JSON.parse(contents[0]!) as string[]).length)).toEqual([0, 1, 2, 3]);
    for (const { runId } of asked) {
      const run = await (await get(a.url, `/query/${runId}`)).json<Record<string, string>>();
      expect(await (await get(b.url, `/query/${runId}`)).json()).toEqual(run);
      for (const time of ['createdAt', 'startedAt', 'endedAt'])
        expect(Math.abs(Date.parse(run[time]!) - now.getTime())).toBeLessThan(60_000);
    }
  });
});
