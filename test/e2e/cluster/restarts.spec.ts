import { join } from 'node:path';
import type { Caller } from '../../support/cluster/caller.js';
import type { Cluster } from '../../support/cluster/cluster.js';
import type { Member } from '../../support/cluster/member.js';
import { clusterSuite } from '../../support/cluster/suite.js';
import { SHARE_OF_CASES } from '../../support/long-form.js';
import { promise } from '../../promises.js';

const COMPLETED = { status: 'completed' };
/** The parts in which the process is killed: after three messages and two; in the long form, also after one. */
const KILLS = SHARE_OF_CASES === 1 ? [3, 4, 8] : [4, 8];
const STEPS = [{ checkpointed: 10, gates: KILLS }];
const FILE_KILLS = SHARE_OF_CASES === 1 ? [5, 7] : [5];
/** The answer of an undisturbed run. */
const ANSWER = Array.from({ length: 10 }, (_, part) =>
  ['a', 'b', 'c'].map((letter) => `${part + 1}${letter} `),
).flat();

describe('A handler that may be executed again', () => {
  const runs = { stopDeadlineMs: 60_000 };
  const suite = clusterSuite(
    { a: { runs: { ...runs, maxRunning: 2 } }, b: { runs: { ...runs, maxRunning: 1 } } },
    { leaseMs: 2_000, restarts: KILLS.length },
  );
  let cluster: Cluster;
  let a: Member;
  let b: Member;

  beforeEach(() => {
    ({ cluster } = suite);
    [a, b] = [cluster.member('a'), cluster.member('b')];
  });

  it(promise('cluster.restart-frozen'), async () => {
    const held = cluster.ask(b, { steps: [{ gate: 'held' }] });
    await cluster.gates.reached('held');
    // Its handler does not notice that the run was lost. The next attempt comes to the gate too.
    const asked = cluster.ask([a, b], { steps: [{ deaf: 1 }, { emit: 2 }, { gate: 'go' }, { emit: 1 }] });
    await cluster.gates.reached('go');
    const follower = cluster.follow(b, asked.runId!);
    a.freeze();
    await follower.until('restarted');
    a.wake();
    await cluster.gates.reached('go', 2);
    cluster.gates.open('go');
    cluster.gates.open('held');
    await Promise.all([asked, follower, held].map(({ ended }) => ended));
    expect(follower.contents).toEqual(['1 ', '2 ', '3 ']);
  });

  it(promise('cluster.restart-killed'), async () => {
    const undisturbed = cluster.ask(a, { steps: [{ checkpointed: 10 }] });
    await undisturbed.ended;
    expect(undisturbed.contents).toEqual(ANSWER);
    const members = [a, b];
    const asked = cluster.ask(members, { steps: STEPS, session: 's' });
    for (const part of KILLS) {
      await cluster.gates.reached(`part${part}`);
      const lost = await cluster.executing(asked.runId!);
      await lost.kill();
      cluster.gates.open(`part${part}`);
      members.push(await cluster.add(lost.name, { runs }));
    }
    const late = cluster.follow(members, asked.runId!);
    await Promise.all([asked.ended, late.ended]);
    for (const caller of [asked, late]) expect([caller.end, caller.contents]).toEqual([COMPLETED, ANSWER]);
    const again = cluster.ask(cluster.running, { session: 's', steps: [{ turns: 1 }] });
    await again.ended;
    expect(JSON.parse(again.contents[0]!)).toEqual([ANSWER.join('')]);
  });

  it(promise('cluster.restart-file'), async () => {
    const database = `file:${join(cluster.directory, 'runs.db')}`;
    const members = [await cluster.add('file', { database })];
    const asked = cluster.ask(members, { steps: [{ checkpointed: 10, gates: FILE_KILLS }] });
    for (const part of FILE_KILLS) {
      await cluster.gates.reached(`part${part}`);
      await members.at(-1)!.kill();
      cluster.gates.open(`part${part}`);
      members.push(await cluster.add('file', { database }));
    }
    const late = cluster.follow(members.at(-1)!, asked.runId!);
    await Promise.all([asked.ended, late.ended]);
    for (const caller of [asked, late]) expect([caller.end, caller.contents]).toEqual([COMPLETED, ANSWER]);
    expect(attempts(asked)).toEqual(FILE_KILLS.map((_, index) => index + 2));
    expect(await members.at(-1)!.stop()).toBe(0);
    // Its runs are not those of the other processes.
    cluster.callers.length = 0;
  });

  it(promise('cluster.restart-limit'), async () => {
    const database = `file:${join(cluster.directory, 'killed.db')}`;
    const members = [await cluster.add('killed', { database })];
    const asked = cluster.ask(members, { steps: [{ emit: 1 }, { gate: 'kill' }, { kill: 1 }] });
    let isEnded = false;
    void asked.ended.then(() => (isEnded = true));
    await asked.until('"1 "');
    cluster.gates.open('kill');
    await members[0]!.exited;
    while (!isEnded) {
      // The run is executed again while the process starts, and may end it before it listens.
      const member = await cluster.add('killed', { database }).catch(() => undefined);
      if (!member) continue;
      members.push(member);
      await Promise.race([asked.ended, member.exited]);
    }
    expect(asked.end).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    const calls = (await cluster.executions()).filter(({ runId }) => runId === asked.runId);
    expect(calls.map(({ what, attempt }) => [what, attempt])).toEqual(
      Array.from({ length: 1 + KILLS.length }, (_, index) => ['called', index + 1]),
    );
    expect(await members.at(-1)!.stop()).toBe(0);
    // Its runs are not those of the other processes.
    cluster.callers.length = 0;
  });
});

/** The numbers of the later attempts, as the caller was told. */
function attempts({ received }: Caller): number[] {
  return received
    .map(({ data }) => JSON.parse(data) as { type: string; data: { attempt: number } })
    .filter(({ type }) => type === 'restarted')
    .map(({ data }) => data.attempt);
}
