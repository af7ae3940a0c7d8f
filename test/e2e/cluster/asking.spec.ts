import { request } from '../../support/client.js';
import type { Cluster } from '../../support/cluster/cluster.js';
import type { Member } from '../../support/cluster/member.js';
import { clusterSuite } from '../../support/cluster/suite.js';
import { eventually } from '../../support/conditions.js';
import { SHARE_OF_CASES } from '../../support/long-form.js';
import { promise } from '../../promises.js';

/** Each process is replaced once; in the long form, three times. */
const DEPLOYS = SHARE_OF_CASES === 1 ? 6 : 2;

const YES = { outcome: 'answered', value: { approved: true } };
const NO = { outcome: 'answered', value: { approved: false } };

async function answer(member: Member, runId: string, key: string, given: object = YES) {
  const body = JSON.stringify({ answers: [{ id: key, ...given }] });
  const reply = await request(member.url, { path: `/query/${runId}/inputs` }, body);
  const { code, answers } = await reply.json<{ code?: string; answers?: object[] }>();
  return { status: reply.status, code, answers };
}

describe('A run that asks, among several processes', () => {
  const suite = clusterSuite({ a: {}, b: {} }, { leaseMs: 2_000 });
  let cluster: Cluster;
  let a: Member;
  let b: Member;
  beforeEach(() => {
    ({ cluster } = suite);
    [a, b] = [cluster.member('a'), cluster.member('b')];
  });
  const calls = async (runId: string) =>
    (await cluster.executions()).filter(({ what, ...of }) => what === 'called' && of.runId === runId);
  const statusOf = async (runId: string) =>
    (
      await cluster.select<{ status: string; process: string }>(
        `select status, process from schema.runs where id = '${runId}'`,
      )
    )[0]!;

  it(promise('asking.elsewhere'), async () => {
    const asked = cluster.ask(a, { steps: [{ emit: 1 }, { ask: 'k' }, { emit: 1 }] });
    await asked.until('input_required');
    expect((await answer(b, asked.runId!, 'k')).status).toBe(200);
    await asked.ended;
    expect(asked.contents).toEqual(['1 ', 'k answered true ', '2 ']);
    // The handler has waited.
    expect(await calls(asked.runId!)).toMatchObject([{ process: 'a', attempt: 1 }]);
  });

  it(promise('asking.killed'), async () => {
    const members = [a];
    const asked = cluster.ask(members, {
      steps: [{ emit: 2 }, { ask: 'k', survives: true }, { emit: 1 }],
      session: 'killed',
    });
    await asked.until('input_required');
    await Promise.all([a.kill(), b.kill()]);
    members.push(await cluster.add('a'), await cluster.add('b'));
    [a, b] = [cluster.member('a'), cluster.member('b')];
    await eventually(async () => (await statusOf(asked.runId!)).process === '');
    expect((await answer(b, asked.runId!, 'k')).status).toBe(200);
    await asked.ended;
    expect(asked.contents).toEqual(['1 ', '2 ', 'k answered true ', '1 ']);
    expect(await calls(asked.runId!)).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
    expect(asked.received.some(({ data }) => data.includes('restarted'))).toBe(false);
  });

  it(promise('asking.killed', 'also if the answer comes before anybody notices'), async () => {
    const asked = cluster.ask([a, b], { steps: [{ ask: 'k', survives: true }, { emit: 1 }] });
    await asked.until('input_required');
    await a.kill();
    expect((await answer(b, asked.runId!, 'k')).status).toBe(200);
    await asked.ended;
    expect(asked.contents).toEqual(['k answered true ', '1 ']);
    await cluster.add('a');
  });

  it(promise('asking.killed', 'a handler that cannot be called again is interrupted'), async () => {
    const asked = cluster.ask([a, b], { steps: [{ ask: 'k' }] });
    await asked.until('input_required');
    await a.kill();
    await asked.ended;
    expect(asked.end).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    expect(await answer(b, asked.runId!, 'k')).toMatchObject({ status: 409, code: 'run_ended' });
    await cluster.add('a');
  });

  it(promise('asking.deploys'), async () => {
    const members = [a, b];
    const asked = cluster.ask(members, { steps: [{ emit: 1 }, { ask: 'k', survives: true }] });
    await asked.until('input_required');
    for (let deploy = 0; deploy < DEPLOYS; deploy++) {
      const name = deploy % 2 ? 'b' : 'a';
      expect(await cluster.member(name).stop()).toBe(0);
      members.push(await cluster.add(name));
    }
    expect(await statusOf(asked.runId!)).toEqual({ status: 'input_required', process: '' });
    await answer(cluster.member('a'), asked.runId!, 'k', NO);
    await asked.ended;
    expect(asked.contents).toEqual(['1 ', 'k answered false ']);
    expect(await calls(asked.runId!)).toHaveLength(2);
  });

  it(promise('asking.one-answer'), async () => {
    const asked = cluster.ask(a, {
      steps: Array.from({ length: 20 }, (_, index) => ({ ask: `k${index}` })),
    });
    for (let index = 0; index < 20; index++) {
      await asked.until(`"k${index}"`);
      const both = await Promise.all([
        answer(a, asked.runId!, `k${index}`, YES),
        answer(b, asked.runId!, `k${index}`, NO),
      ]);
      const winner = both.findIndex(({ status }) => status === 200);
      const value = { approved: winner === 0 };
      expect(both[1 - winner]).toMatchObject({ status: 409, code: 'input_resolved', answers: [{ value }] });
      await asked.until(`k${index} answered ${winner === 0} `);
    }
    await asked.ended;
  });

  it(promise('asking.ended-elsewhere'), async () => {
    const cancelled = cluster.ask(a, { steps: [{ ask: 'k' }], session: 'cancelled' });
    await cancelled.until('input_required');
    const reply = await request(b.url, { method: 'DELETE', path: `/query/${cancelled.runId}` });
    expect([reply.status, (await reply.json())['status']]).toEqual([200, 'cancelled']);
    await cancelled.ended;
    const superseded = cluster.ask(a, { steps: [{ ask: 'k' }], session: 's' });
    await superseded.until('input_required');
    const newer = cluster.ask(b, { steps: [{ emit: 1 }], session: 's' });
    await Promise.all([newer.ended, superseded.ended]);
    expect([newer.end, superseded.end]).toEqual([{ status: 'completed' }, { status: 'cancelled' }]);
    const expired = cluster.ask(a, {
      steps: [{ ask: 'k', more: { expiresInMs: 100, onExpire: { value: { approved: true } } } }],
    });
    await expired.ended;
    expect(expired.contents).toEqual(['k expired true ']);
    // The handlers have stopped, and no slot is taken.
    await eventually(async () => {
      const executions = await cluster.executions();
      return [cancelled, superseded].every(({ runId }) =>
        executions.some((each) => each.runId === runId && each.what === 'aborted'),
      );
    });
  });
});

describe('A run that was answered, and waits for the limit of its owner', () => {
  // No heartbeat looks for what signals say: it would come after minutes.
  const suite = clusterSuite({ a: {}, b: {} }, { leaseMs: 1_800_000, runs: { maxRunningPerOwner: 1 } });

  it.each([
    ['ends', { emit: 1 }],
    ['asks', { ask: 'other' }],
  ])(promise('asking.elsewhere', 'as soon as a run of another process %s'), async (gate, next) => {
    const { cluster } = suite;
    const [a, b] = [cluster.member('a'), cluster.member('b')];
    const asked = cluster.ask(a, { steps: [{ ask: 'k' }] });
    await asked.until('input_required');
    const running = cluster.ask(b, { steps: [{ gate }, next] });
    await cluster.gates.reached(gate);
    expect((await answer(b, asked.runId!, 'k')).status).toBe(200);
    await asked.until('input_resolved');
    cluster.gates.open(gate);
    await asked.ended;
    expect(asked.contents).toEqual(['k answered true ']);
    if ('ask' in next) await answer(a, running.runId!, 'other');
    await running.ended;
  });
});
