import { FULL, request } from '../../support/client.js';
import type { Cluster } from '../../support/cluster/cluster.js';
import type { Member } from '../../support/cluster/member.js';
import { clusterSuite } from '../../support/cluster/suite.js';
import { eventuallyElsewhere } from '../../support/conditions.js';
import { promise } from '../../promises.js';

const INTERRUPTED = { status: 'failed', error: expect.objectContaining({ code: 'interrupted' }) };
const COMPLETED = { status: 'completed' };

/**
 * What has happened in products of NestJS, BullMQ and Server-Sent Events, with the same processes: one that talks to callers,
 * two that execute, and a queue between them. docs/compared.md tells the incidents.
 */
describe('A service with a queue of BullMQ', () => {
  const worker = { role: 'worker', runs: { maxRunning: 1 } } as const;
  const suite = clusterSuite(
    { api: { role: 'api' }, one: worker, two: worker },
    { leaseMs: 2_500, keepAliveMs: 100, queue: 'incidents' },
  );
  let cluster: Cluster;
  let api: Member;

  beforeEach(() => {
    ({ cluster } = suite);
    api = cluster.member('api');
  });

  /** The process that executes a run, when its handler was called. */
  async function executing(runId: string): Promise<Member> {
    await eventuallyElsewhere(async () => (await cluster.executions()).some((each) => each.runId === runId));
    return cluster.executing(runId);
  }

  async function replace(lost: Member): Promise<void> {
    await lost.kill();
    await cluster.add(lost.name, worker);
  }

  it(promise('cluster.killed-executing', 'and no job of a queue brings it back'), async () => {
    const asked = cluster.ask(api, { steps: [{ emit: 2 }, { gate: 'never' }] });
    await asked.until('"2 "');
    // What is in no queue cannot be found there as stalled.
    await eventuallyElsewhere(async () => (await cluster.select('select id from bullmq.job')).length === 0);
    await replace(await executing(asked.runId!));
    await asked.ended;
    expect(asked.end).toEqual(INTERRUPTED);
    const later = [1, 2, 3].map(() => cluster.ask(api));
    await Promise.all(later.map(({ ended }) => ended));
    const calls = (await cluster.executions()).filter(({ runId }) => runId === asked.runId);
    expect(calls.map(({ what }) => what)).toEqual(['called']);
  });

  it(promise('cluster.killed-executing', 'although the keep-alives of another process go on'), async () => {
    const asked = cluster.ask(api, { steps: [{ emit: 1 }, { gate: 'never' }] });
    await asked.until('"1 "');
    const path = `/query/${asked.runId}`;
    const follower = await request(api.url, { method: 'GET', path, headers: FULL, isStalled: true });
    await replace(await executing(asked.runId!));
    let text = '';
    for await (const chunk of follower.chunks()) text += chunk.toString();
    expect(text.match(/^:$/gm)!.length).toBeGreaterThan(5);
    expect(text).toMatch(
      /^data: \{"type":"done","data":\{"status":"failed","error":\{"code":"interrupted".*\n\n$/m,
    );
  });

  it(promise('cluster.killed-executing', 'also a process that sends no heartbeat any more'), async () => {
    const blocked = cluster.ask(api, { session: 'blocked', steps: [{ emit: 1 }, { block: 1 }] });
    const next = cluster.ask(api, { session: 'blocked' });
    const process = await executing(await blocked.admitted());
    await Promise.all([blocked.ended, next.ended]);
    expect([blocked.end, next.end]).toEqual([INTERRUPTED, COMPLETED]);
    expect(process.isRunning).toBe(true);
    await replace(process);
  });

  it(promise('cluster.slots', 'and keeps the run, which it takes before its first heartbeat'), async () => {
    const held = [1, 2].map(() => cluster.ask(api, { steps: [{ gate: 'held' }] }));
    await cluster.gates.reached('held', 2);
    const asked = cluster.ask(api, { steps: [{ gate: 'taken' }] });
    await asked.until('Waiting for a slot');
    await cluster.add('three', worker);
    await cluster.gates.reached('taken');
    const beats = () =>
      cluster.select<{ beats: number }>('select min(heartbeat)::int as beats from schema.processes');
    // The others have looked at it for longer than a lease.
    await eventuallyElsewhere(async () => (await beats())[0]!.beats > 5);
    cluster.gates.open('taken');
    cluster.gates.open('held');
    await Promise.all([...held, asked].map(({ ended }) => ended));
    expect([...held, asked].map(({ end }) => end)).toEqual([COMPLETED, COMPLETED, COMPLETED]);
  });
});
