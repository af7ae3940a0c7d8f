import { eventuallyElsewhere } from '../../support/conditions.js';
import type { Cluster } from '../../support/cluster/cluster.js';
import type { Member } from '../../support/cluster/member.js';
import { clusterSuite } from '../../support/cluster/suite.js';
import { promise } from '../../promises.js';

const INTERRUPTED = { status: 'failed', error: expect.objectContaining({ code: 'interrupted' }) };
const COMPLETED = { status: 'completed' };

describe('A process that is lost', () => {
  const suite = clusterSuite({ a: {}, b: {} }, { leaseMs: 2_500, runs: { maxRunning: 1 } });
  let cluster: Cluster;
  let a: Member;
  let b: Member;

  beforeEach(() => {
    ({ cluster } = suite);
    [a, b] = [cluster.member('a'), cluster.member('b')];
  });

  it(promise('cluster.killed-executing'), async () => {
    const asked = cluster.ask([a, b], { session: 's', steps: [{ emit: 3 }, { gate: 'never' }] });
    await asked.until('"3 "');
    const waiting = cluster.ask([a, b], { session: 's' });
    const follower = cluster.follow(b, asked.runId!);
    await Promise.all([waiting.until('1 ahead'), follower.until('"3 "')]);
    await a.kill();
    await Promise.all([asked, follower, waiting].map(({ ended }) => ended));
    expect([asked.end, follower.end, waiting.end]).toEqual([INTERRUPTED, INTERRUPTED, COMPLETED]);
    await cluster.add('a');
  });

  it(promise('cluster.killed-following'), async () => {
    const asked = cluster.ask(a, { steps: [{ gate: 'begin' }, { emit: 200, everyMs: 5 }] });
    const follower = cluster.follow([b, a], await asked.admitted());
    cluster.gates.open('begin');
    await follower.until('"20 "');
    await b.kill();
    await follower.ended;
    expect(follower.contents).toHaveLength(200);
    await cluster.add('b');
  });

  it(promise('cluster.frozen'), async () => {
    const steps = [{ emit: 3 }, { gate: 'wake' }, { emit: 1000, everyMs: 5 }];
    const asked = cluster.ask(a, { session: 'frozen', steps });
    await asked.until('"3 "');
    const follower = cluster.follow(b, asked.runId!);
    await follower.until('"3 "');
    a.freeze();
    await follower.ended;
    expect(follower.end).toEqual(INTERRUPTED);
    const next = cluster.ask(b, { session: 'frozen' });
    await next.ended;
    expect(next.end).toEqual(COMPLETED);
    cluster.gates.open('wake');
    // It is in the socket when the process wakes, before the process notices that its lease has ended.
    const early = cluster.ask(a);
    a.wake();
    await Promise.all([asked.ended, early.ended]);
    expect([asked.end, early.end]).toEqual([INTERRUPTED, COMPLETED]);
    await eventuallyElsewhere(() => a.log.includes('other processes own its 1 runs now'));
    const again = cluster.ask(a, { session: 'frozen' });
    await again.ended;
    expect(await cluster.executing(again.runId!)).toBe(a);
  });

  it(promise('cluster.frozen-takes'), async () => {
    const held = cluster.ask(b, { steps: [{ gate: 'held' }] });
    await cluster.gates.reached('held');
    a.freeze();
    const leases = 'select id from schema.processes';
    await eventuallyElsewhere(async () => (await cluster.select(leases)).length === 1);
    const waiting = [1, 2, 3].map(() => cluster.ask(b));
    await Promise.all(waiting.map((caller) => caller.until('Waiting for a slot')));
    a.wake();
    await Promise.all(waiting.map(({ ended }) => ended));
    expect(waiting.map(({ end }) => end)).toEqual([COMPLETED, COMPLETED, COMPLETED]);
    cluster.gates.open('held');
    await held.ended;
  });
});
