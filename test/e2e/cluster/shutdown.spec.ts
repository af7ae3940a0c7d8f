import { follow } from '../../support/client.js';
import { eventuallyElsewhere } from '../../support/conditions.js';
import type { Cluster } from '../../support/cluster/cluster.js';
import type { Member } from '../../support/cluster/member.js';
import { clusterSuite } from '../../support/cluster/suite.js';
import { promise } from '../../promises.js';

const COMPLETED = { status: 'completed' };

describe('A process that is stopped while others continue', () => {
  const runs = { maxRunning: 2, drainMs: 3_000, stopDeadlineMs: 500 };
  const suite = clusterSuite({ a: { runs }, b: { runs } }, { leaseMs: 2_500, restarts: 3 });
  let cluster: Cluster;
  let a: Member;
  let b: Member;

  beforeEach(() => {
    ({ cluster } = suite);
    [a, b] = [cluster.member('a'), cluster.member('b')];
  });

  it(promise('cluster.drain'), async () => {
    const asked = cluster.ask([a, b], { steps: [{ emit: 1 }, { gate: 'asked' }, { emit: 1 }] });
    const first = cluster.ask([a, b], { session: 's', steps: [{ gate: 'first' }] });
    await Promise.all([asked.until('"1 "'), cluster.gates.reached('first')]);
    const held = [1, 2].map(() => cluster.ask(b, { steps: [{ gate: 'held' }] }));
    await cluster.gates.reached('held', 2);
    const waiting = [cluster.ask([a, b], { session: 's' }), cluster.ask([a, b])];
    await Promise.all(waiting.map((caller) => caller.until('Waiting')));

    const stopped = a.stop();
    await eventuallyElsewhere(() => a.isClosed());
    const follower = cluster.follow(b, asked.runId!);
    await follower.until('"1 "');
    cluster.gates.open('held');
    await waiting[1]!.ended;
    expect(await cluster.executing(waiting[1]!.runId!)).toBe(b);
    cluster.gates.open('first');
    await waiting[0]!.ended;
    expect(await cluster.executing(waiting[0]!.runId!)).toBe(b);
    cluster.gates.open('asked');
    expect(await stopped).toBe(0);
    await Promise.all([asked, follower, first].map(({ ended }) => ended));
    expect([asked, follower, first].flatMap(({ cuts }) => cuts)).toEqual([]);
    expect(held.every(({ cuts }) => cuts.length === 0)).toBe(true);
    await cluster.add('a', { runs });
  });

  it(promise('cluster.drain-restarts'), async () => {
    const steps = [{ checkpointed: 2 }, { gate: 'go' }, { emit: 1 }];
    const asked = cluster.ask([a, b], { steps });
    await cluster.gates.reached('go');
    const reply = await follow(a.url, asked.runId!);
    const follower = cluster.follow(b, asked.runId!);
    expect(await a.stop()).toBe(0);
    expect((await reply.whole()).endsWith('retry: 10\n')).toBe(true);
    await cluster.gates.reached('go', 2);
    cluster.gates.open('go');
    await Promise.all([asked.ended, follower.ended]);
    for (const caller of [asked, follower]) {
      expect(caller.end).toEqual(COMPLETED);
      expect(caller.contents).toEqual(['1a ', '1b ', '1c ', '2a ', '2b ', '2c ', '1 ']);
    }
    expect(await cluster.executing(asked.runId!)).toBe(b);
    await cluster.add('a', { runs });
  });

  it(promise('cluster.drain-interrupted'), async () => {
    const c = await cluster.add('c', { runs: { ...runs, drainMs: 0 }, restarts: 0 });
    const asked = cluster.ask([c, b], { steps: [{ emit: 1 }, { gate: 'never' }] });
    await asked.until('"1 "');
    const follower = cluster.follow(b, asked.runId!);
    await follower.until('"1 "');
    expect(await c.stop()).toBe(0);
    await Promise.all([asked.ended, follower.ended]);
    for (const { end } of [asked, follower])
      expect(end).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
  });

  it(promise('cluster.second-signal'), async () => {
    const asked = cluster.ask([a, b], { steps: [{ emit: 1 }, { gate: 'again' }] });
    await cluster.gates.reached('again');
    a.signal('SIGTERM');
    await eventuallyElsewhere(() => a.isClosed());
    a.signal('SIGTERM');
    expect(await a.exited).toBe(143);
    expect(a.log).toContain('ends at once, because of a second signal (SIGTERM)');
    await cluster.gates.reached('again', 2);
    cluster.gates.open('again');
    await asked.ended;
    expect(asked.end).toEqual(COMPLETED);
  });
});
