import type { Question, RunOptions } from '../../../src/index.js';
import { promise } from '../../promises.js';
import {
  answer,
  answered,
  asks,
  askingRun,
  finish,
  jsonAt,
  quarter,
  REFUND,
  withoutTimes,
  YES,
} from '../../support/asking.js';
import { ask, envelopesOf, follow } from '../../support/client.js';
import { eventually } from '../../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../../support/host.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

const SOON = { expiresInMs: 1 };

describeOnOneAdapter('A request that expires, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  const start = async (runs: Partial<RunOptions> = {}, restarts = 0) => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, Object.assign(agent.handler, { restarts }), { runs });
  };
  afterEach(() => host.close());
  const outcomesOf = (text: string) =>
    envelopesOf(withoutTimes(text))
      .filter(({ type }) => type === 'input_resolved')
      .flatMap(({ data }) => (data as { answers: object[] }).answers);
  const expectLate = async (runId: string, code = 'input_expired') => {
    const late = await answer(host.url, runId, [YES]);
    expect(late.status).toBe(409);
    expect(await late.json()).toMatchObject({ code });
  };

  it.each<[string, Partial<Question>, object]>([
    ['by default', {}, {}],
    ['decline', { onExpire: 'decline' }, {}],
    [
      'a value',
      { onExpire: { value: { approved: false, reason: 'late' } } },
      { value: { approved: false, reason: 'late' } },
    ],
  ])(promise('expiry.outcomes', '%s'), async (_, onExpire, value) => {
    await start();
    const run = await askingRun(host, agent, [{ ...REFUND, ...SOON, ...onExpire }]);
    const expired = { id: 'refund-881', outcome: 'expired', ...value, by: null };
    expect(await run.answers).toEqual([{ ...expired, at: expect.any(String) }]);
    await expectLate(run.runId);
    const log = await finish(run);
    expect(outcomesOf(log)).toEqual([{ ...expired, at: '<time>' }]);
    expect(log).toContain('"completed"');
    await expectLate(run.runId);
  });

  it(promise('expiry.outcomes', 'the run fails'), async () => {
    await start();
    const questions = [{ ...REFUND, ...SOON, onExpire: 'fail' as const }, quarter()];
    const run = await askingRun(host, agent, questions, { session: 's' });
    await expect(run.answers).rejects.toThrow('The run is failed.');
    expect(run.call.context.signal.reason).toMatchObject({ name: 'Error' });
    expect(envelopesOf(withoutTimes(await run.asked.whole())).slice(1)).toEqual([
      {
        type: 'input_resolved',
        data: {
          answers: [
            { id: 'refund-881', outcome: 'expired', by: null, at: '<time>' },
            { id: 'quarter', outcome: 'cancelled', by: null, at: '<time>' },
          ],
        },
      },
      {
        type: 'tool_result',
        data: { id: 'call_9', content: 'Not executed: nobody has answered in time.', isError: true },
      },
      {
        type: 'done',
        data: {
          status: 'failed',
          error: {
            code: 'input_expired',
            message: 'The run needed an answer, and nobody has given one in time.',
          },
        },
      },
    ]);
    await expectLate(run.runId);
    expect((await (await answer(host.url, run.runId, [answered('quarter', 'a')])).json())['code']).toBe(
      'run_ended',
    );
    await host.idle();
    expect(await jsonAt(host.url, '/query/sessions/s')).toMatchObject({
      asking: null,
      active: null,
      waiting: 0,
    });
  });

  it(promise('expiry.outcomes', 'the next query of its session starts'), async () => {
    await start();
    const first = await ask(host.url, 'First', { kwargs: { session_id: 's' } });
    const call = await agent.callFor('First');
    const second = await ask(host.url, 'Second', { kwargs: { session_id: 's' } });
    await second.until('Waiting');
    const answers = asks(call, [quarter({ ...SOON, onExpire: 'fail' })]);
    (await agent.callFor('Second')).finish();
    await expect(answers).rejects.toThrow('The run is failed.');
    await Promise.all([first.whole(), second.whole()]);
  });

  it(promise('expiry.outcomes', 'one of two, and nobody follows'), async () => {
    await start({ disconnect: 'cancel' });
    const run = await askingRun(host, agent, [{ ...REFUND, ...SOON }, quarter()]);
    await run.asked.until('"expired"');
    run.asked.cut();
    await eventually(() => host.agent.load().followers === 0);
    expect(await jsonAt(host.url, '/query/inputs')).toMatchObject({ inputs: [{ id: 'quarter' }] });
    await answer(host.url, run.runId, [answered('quarter', 'Q1')]);
    expect(await run.answers).toMatchObject([{ outcome: 'expired' }, { value: 'Q1' }]);
    const again = asks(run.call, [quarter({ key: 'again', ...SOON })]);
    // Nobody has answered, so that nobody follows.
    expect(await again).toMatchObject([{ outcome: 'expired' }]);
    run.call.finish();
    await host.idle();
    expect((await (await follow(host.url, run.runId)).answer()).done).toEqual([{ status: 'completed' }]);
  });

  it(promise('expiry.late'), async () => {
    await start();
    const run = await askingRun(host, agent, [quarter(), { ...REFUND, expiresInMs: 20 }]);
    const { inputs } = await jsonAt<{ inputs: { expiresAt: string }[] }>(host.url, '/query/inputs');
    await eventually(() => Date.now() > Date.parse(inputs[0]!.expiresAt));
    // One that has expired counts as such from that time on, and with the others nothing is answered.
    const both = await answer(host.url, run.runId, [answered('quarter', 'Q1'), YES]);
    expect([both.status, (await both.json())['code']]).toEqual([409, 'input_expired']);
    await run.asked.until('"expired"');
    await expectLate(run.runId);
    await answer(host.url, run.runId, [answered('quarter', 'Q2')]);
    expect(await run.answers).toMatchObject([{ value: 'Q2' }, { outcome: 'expired' }]);
    await finish(run);
  });

  it(promise('expiry.late', 'at the same time'), async () => {
    await start();
    const keys = Array.from({ length: 30 }, (_, index) => `${index}`);
    const questions = keys.map((key, index) => quarter({ key, expiresInMs: 1 + 25 * index }));
    const run = await askingRun(host, agent, questions);
    const given: Record<string, string> = {};
    for (const key of keys) {
      const reply = await answer(host.url, run.runId, [answered(key, 'Q1')]);
      given[key] = reply.status === 200 ? 'answered' : 'expired';
    }
    expect(Object.fromEntries((await run.answers).map(({ id, outcome }) => [id, outcome]))).toEqual(given);
    expect(outcomesOf(await finish(run))).toHaveLength(keys.length);
  });

  it.each<[string, Partial<RunOptions>, number, { checkpoint?: unknown }, Partial<Question>, number]>([
    ['5 min in memory', {}, 0, {}, {}, 300_000],
    ['what askInMemoryMs says', { askInMemoryMs: 60_000 }, 0, {}, { expiresInMs: 120_000 }, 60_000],
    ['less', {}, 0, {}, { expiresInMs: 1_000 }, 1_000],
    ['24 h with a checkpoint', {}, 0, { checkpoint: null }, {}, 86_400_000],
    ['24 h with restarts', {}, 1, {}, {}, 86_400_000],
    ['30 days', {}, 1, {}, { expiresInMs: 2_592_000_000 }, 2_592_000_000],
  ])(promise('expiry.default', '%s'), async (_, runs, restarts, options, question, expectedMs) => {
    await start(runs, restarts);
    const asked = await ask(host.url);
    const call = await agent.call(1);
    const before = Date.now();
    const answers = asks(call, [{ ...REFUND, ...question }], options);
    await asked.until('input_required');
    const { inputs } = await jsonAt<{ inputs: { expiresAt: string }[] }>(host.url, '/query/inputs');
    const expiresAt = Date.parse(inputs[0]!.expiresAt);
    expect(expiresAt).toBeGreaterThanOrEqual(before + expectedMs);
    expect(expiresAt).toBeLessThanOrEqual(Date.now() + expectedMs);
    await answer(host.url, asked.runId, [YES]);
    await answers;
    call.finish();
    await asked.whole();
  });
});
