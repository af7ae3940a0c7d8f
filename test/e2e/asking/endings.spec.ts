import { MemoryRunStore, message, type RunOptions } from '../../../src/index.js';
import { promise } from '../../promises.js';
import {
  answer,
  asks,
  askingRun,
  finish,
  jsonAt,
  quarter,
  REFUND,
  withoutTimes,
  YES,
} from '../../support/asking.js';
import { ask, cancel, envelopesOf, follow, FULL, request } from '../../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../../support/host.js';
import { OperatorLog } from '../../support/operator-log.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

const IDLE = { running: 0, waiting: 0, asking: 0, followers: 0, overdue: 0 };
const NOT_EXECUTED = {
  type: 'tool_result',
  data: { id: 'call_9', content: 'Not executed: the run was ended before the answer.', isError: true },
};
const closed = (outcome: string, ...ids: string[]) => ({
  type: 'input_resolved',
  data: { answers: ids.map((id) => ({ id, outcome, by: null, at: '<time>' })) },
});

describeOnOneAdapter('The end of a run that asks, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  const start = async (runs: Partial<RunOptions> = {}, scripted = new ScriptedAgent()) => {
    agent = scripted;
    const owner = ({ headers }: { headers: Record<string, unknown> }) =>
      headers['x-owner'] as string | undefined;
    host = await startAgent(adapter, agent.handler, { runs, owner });
  };
  afterEach(() => host.close());
  const endOf = (text: string) => envelopesOf(withoutTimes(text)).slice(1);

  it(promise('asking.cancel'), async () => {
    await start();
    const run = await askingRun(host, agent, [REFUND, quarter()], { session: 's' });
    run.call.emit(message('Never seen.'));
    const cancelled = await cancel(host.url, run.runId);
    expect(cancelled.status).toBe(200);
    expect(await cancelled.json()).toMatchObject({ status: 'cancelled', events: 4 });
    await expect(run.answers).rejects.toThrow('The run is cancelled.');
    expect(endOf(await run.asked.whole())).toEqual([
      closed('cancelled', 'refund-881', 'quarter'),
      NOT_EXECUTED,
      { type: 'done', data: { status: 'cancelled' } },
    ]);
    expect(await jsonAt(host.url, '/query/inputs')).toEqual({ inputs: [], next: null });
    expect(await jsonAt(host.url, '/query/sessions/s')).toMatchObject({
      asking: null,
      turns: [{ runId: run.runId }],
    });
    expect(host.agent.load()).toEqual(IDLE);
  });

  it(promise('asking.cancel', 'whose handler does not stop'), async () => {
    await start({ stopDeadlineMs: 20 }, new ScriptedAgent(true));
    const log = OperatorLog.of(host.app);
    const run = await askingRun(host, agent);
    const cancelled = await cancel(host.url, run.runId);
    expect(cancelled.status).toBe(202);
    expect((await run.asked.answer()).done).toEqual([{ status: 'cancelled' }]);
    expect(host.agent.load()).toEqual({ ...IDLE, overdue: 1 });
    expect(log.troubles).toEqual([expect.stringContaining('the handler still executes 20 ms after')]);
    run.call.finish();
    await host.idle();
  });

  it(promise('asking.erase'), async () => {
    await start();
    const run = await askingRun(host, agent, [{ ...REFUND, hold: true }], { session: 's' });
    const waiting = await ask(host.url, 'Second', { headers: FULL, kwargs: { session_id: 's' } });
    await waiting.until('Waiting');
    const erased = await request(host.url, { method: 'DELETE', path: '/query/sessions/s' });
    expect(erased.status).toBe(204);
    await expect(run.answers).rejects.toThrow('The run is cancelled.');
    expect((await run.asked.answer()).done).toEqual([{ status: 'cancelled' }]);
    expect((await waiting.answer()).done).toEqual([{ status: 'cancelled' }]);
    expect((await answer(host.url, run.runId, [YES])).status).toBe(404);
    expect(await jsonAt(host.url, '/query/inputs')).toEqual({ inputs: [], next: null });
    expect(agent.calls).toHaveLength(1);
  });

  it(promise('asking.shutdown'), async () => {
    await start();
    const run = await askingRun(host, agent, [REFUND]);
    const held = await follow(host.url, run.runId);
    await host.close();
    await expect(run.answers).rejects.toThrow('The run is failed.');
    expect(run.call.context.signal.reason).toMatchObject({ name: 'Error' });
    for (const reply of [run.asked, held])
      expect(endOf(await reply.whole())).toEqual([
        closed('cancelled', 'refund-881'),
        NOT_EXECUTED,
        {
          type: 'done',
          data: { status: 'failed', error: { code: 'interrupted', message: expect.any(String) } },
        },
      ]);
    await start();
  });

  it(promise('asking.shutdown', 'at once, while others have time to end'), async () => {
    await start({ drainMs: 60_000 });
    const run = await askingRun(host, agent);
    const other = await ask(host.url, 'Other');
    const call = await agent.callFor('Other');
    const closing = host.close();
    expect((await run.asked.answer()).done).toMatchObject([{ error: { code: 'interrupted' } }]);
    call.emit(message('Done.'));
    call.finish();
    expect(await other.answer()).toEqual({ text: 'Done.', done: [{ status: 'completed' }] });
    await closing;
    await start();
  });

  it(promise('asking.repeated'), async () => {
    await start();
    const headers = { ...FULL, 'idempotency-key': 'k' };
    const first = await ask(host.url, 'Hi', { headers });
    const call = await agent.call(1);
    const answers = asks(call, [REFUND]);
    await first.until('input_required');
    const second = await ask(host.url, 'Hi', { headers });
    expect(second.runId).toBe(first.runId);
    await second.until('input_required');
    expect((await ask(host.url, 'Another', { headers })).status).toBe(422);
    await answer(host.url, first.runId, [YES]);
    const log = await finish({ runId: first.runId, asked: first, call, answers });
    expect(await second.whole()).toBe(log);
    expect(agent.calls).toHaveLength(1);
  });

  it(promise('asking.limit'), async () => {
    await start({ maxAskingPerOwner: 2 });
    const ann = { headers: { 'x-owner': 'ann' } };
    const first = await askingRun(host, agent, [REFUND, quarter()], { ...ann, text: '1' });
    const second = await askingRun(host, agent, [REFUND], { ...ann, text: '2' });
    const bob = await askingRun(host, agent, [REFUND], { headers: { 'x-owner': 'bob' }, text: 'bob' });
    const third = await ask(host.url, '3', { headers: { ...FULL, ...ann.headers } });
    const call = await agent.callFor('3');
    const refused = asks(call, [REFUND]);
    await expect(refused).rejects.toMatchObject({
      code: 'rate_limited',
      detail: '2 of your runs wait for answers, which is the limit. Answer or cancel some of them.',
    });
    expect(host.agent.load()).toMatchObject({ running: 1, asking: 3 });
    // It may go on, and ask as soon as another one has its answer.
    call.emit(message('Later.'));
    await answer(host.url, second.runId, [YES], ann.headers);
    await finish(second);
    const answers = asks(call, [REFUND]);
    await third.until('input_required');
    await answer(host.url, third.runId, [YES], ann.headers);
    await finish({ runId: third.runId, asked: third, call, answers });
    for (const [run, headers] of [
      [first, ann.headers],
      [bob, { 'x-owner': 'bob' }],
    ] as const) {
      await request(host.url, { method: 'DELETE', path: `/query/${run.runId}`, headers });
      await run.asked.whole();
    }
  });

  it(promise('asking.limit', 'and a handler that does not catch that fails with the code'), async () => {
    agent = new ScriptedAgent();
    host = await startAgent(
      adapter,
      async function* (query, context) {
        yield message('Hm.');
        await context.ask([REFUND]);
        void query;
      },
      { runs: { maxAskingPerOwner: 1 }, store: new MemoryRunStore() },
    );
    const first = await ask(host.url);
    await first.until('input_required');
    const { done } = await (await ask(host.url)).answer();
    expect(done).toMatchObject([{ status: 'failed', error: { code: 'rate_limited' } }]);
    await cancel(host.url, first.runId);
    await first.whole();
  });
});
