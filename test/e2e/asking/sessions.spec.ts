import { message, type RunOptions, toolCall } from '../../../src/index.js';
import { promise } from '../../promises.js';
import {
  answer,
  answered,
  askingRun,
  declined,
  finish,
  jsonAt,
  quarter,
  REFUND,
  withoutTimes,
  YES,
} from '../../support/asking.js';
import { ask, envelopesOf, FULL } from '../../support/client.js';
import { eventually } from '../../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../../support/host.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

const POLICIES = ['enqueue', 'reject', 'interrupt'] as const;
const SESSION = { session: 's' };

describeOnOneAdapter('A session with a run that asks, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  const start = async (runs: Partial<RunOptions> = {}) => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, { runs });
  };
  afterEach(() => host.close());
  const askIn = (text: string) => ask(host.url, text, { headers: FULL, kwargs: { session_id: 's' } });
  const end = async (text: string) => {
    const call = await agent.callFor(text);
    call.emit(message(`Re: ${text}`));
    call.finish();
  };
  const sessionAt = () => jsonAt(host.url, '/query/sessions/s');

  it.each(POLICIES)(promise('asking.supersede', 'sessionPolicy %s'), async (sessionPolicy) => {
    await start({ sessionPolicy });
    const run = await askingRun(host, agent, [REFUND, quarter()], SESSION);
    await answer(host.url, run.runId, [answered('quarter', 'Q1')]);
    const second = await askIn('Second');
    expect(second.status).toBe(200);
    await expect(run.answers).rejects.toThrow('The run is cancelled.');
    expect(run.call.context.signal.reason).toMatchObject({ name: 'Error', message: 'The run is cancelled.' });
    await end('Second');
    expect((await second.answer()).text).toBe('Re: Second');
    expect(envelopesOf(withoutTimes(await run.asked.whole())).slice(2)).toEqual([
      {
        type: 'input_resolved',
        data: { answers: [{ id: 'refund-881', outcome: 'superseded', by: null, at: '<time>' }] },
      },
      {
        type: 'tool_result',
        data: {
          id: 'call_9',
          content: 'Not executed: the user has sent another message instead of an answer.',
          isError: true,
        },
      },
      { type: 'done', data: { status: 'cancelled' } },
    ]);
    const late = await answer(host.url, run.runId, [YES]);
    expect([late.status, (await late.json())['code']]).toEqual([409, 'run_ended']);
    expect(host.agent.load()).toEqual({ running: 0, waiting: 0, asking: 0, followers: 0, overdue: 0 });
  });

  it(
    promise('asking.supersede', 'but not by one that is refused, or of another session or without one'),
    async () => {
      await start({ maxRunning: 1, maxWaiting: 0 });
      const run = await askingRun(host, agent, [REFUND], SESSION);
      for (const [text, session] of [
        ['Other', 'other'],
        ['None', undefined],
      ] as const) {
        const asked = await ask(host.url, text, { kwargs: { session_id: session } });
        if (text === 'None') expect((await askIn('Refused')).status).toBe(503);
        await end(text);
        await asked.whole();
      }
      expect(await sessionAt()).toMatchObject({ asking: run.runId });
      await answer(host.url, run.runId, [YES]);
      await finish(run);
    },
  );

  it(promise('asking.history'), async () => {
    await start();
    const asked = await askIn('Hi');
    const call = await agent.callFor('Hi');
    call.emit(message('Let me see.'), toolCall('call_9', 'refund', { amount: 120 }));
    await asked.until('tool_call');
    void call.context.ask([REFUND, quarter()]).catch(() => undefined);
    await asked.until('input_required');
    await answer(host.url, asked.runId, [answered('quarter', 'Q1')]);
    const second = await askIn('Second');
    const { context } = await agent.callFor('Second');
    expect(context.history).toMatchObject([
      { runId: asked.runId, text: 'Let me see.', end: { status: 'cancelled' } },
    ]);
    expect(context.history[0]!.envelopes.map(({ type }) => type)).toEqual([
      'message',
      'tool_call',
      'input_required',
      'input_resolved',
      'input_resolved',
      'tool_result',
    ]);
    expect(context.history[0]!.envelopes.at(-1)).toMatchObject({ data: { id: 'call_9', isError: true } });
    await end('Second');
    await Promise.all([asked.whole(), second.whole()]);
  });

  it(promise('asking.history', 'and what was answered'), async () => {
    await start();
    const run = await askingRun(host, agent, [REFUND], SESSION);
    await answer(host.url, run.runId, [YES]);
    await run.answers;
    run.call.emit(message('Refunded.'));
    await finish(run);
    const next = await askIn('Next');
    const [turn] = (await agent.callFor('Next')).context.history;
    expect(turn).toMatchObject({
      text: 'Refunded.',
      envelopes: [
        { type: 'input_required', data: { requests: [{ id: 'refund-881' }] } },
        { type: 'input_resolved', data: { answers: [YES] } },
        { type: 'message', data: { content: 'Refunded.' } },
      ],
    });
    await end('Next');
    await next.whole();
    expect(await sessionAt()).toMatchObject({ turns: [{ envelopes: turn!.envelopes }, {}] });
  });

  it.each(['enqueue', 'interrupt'] as const)(
    promise('asking.enqueue', 'sessionPolicy %s'),
    async (sessionPolicy) => {
      await start({ sessionPolicy, onAsking: 'enqueue' });
      const run = await askingRun(host, agent, [REFUND], SESSION);
      const second = await askIn('Second');
      await second.until('Waiting in the queue of the session: 1 ahead.');
      expect(await sessionAt()).toMatchObject({ asking: run.runId, active: null, waiting: 1 });
      await answer(host.url, run.runId, [YES]);
      expect(await finish(run)).toContain('"completed"');
      await end('Second');
      expect((await second.answer()).text).toBe('Re: Second');
    },
  );

  it.each(POLICIES)(promise('asking.reject', 'sessionPolicy %s'), async (sessionPolicy) => {
    await start({ sessionPolicy, onAsking: 'reject' });
    const run = await askingRun(host, agent, [REFUND], SESSION);
    const refused = await askIn('Second');
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({ code: 'session_busy' });
    expect(await sessionAt()).toMatchObject({ asking: run.runId, waiting: 0 });
    await answer(host.url, run.runId, [YES]);
    await finish(run);
  });

  it.each(['enqueue', 'interrupt'] as const)(
    promise('asking.held-request', 'it waits, with sessionPolicy %s'),
    async (sessionPolicy) => {
      await start({ sessionPolicy });
      const run = await askingRun(host, agent, [quarter(), { ...REFUND, hold: true }], SESSION);
      expect(run.asked.text).toContain('"hold":true');
      const second = await askIn('Second');
      await second.until('Waiting');
      await answer(host.url, run.runId, [YES]);
      // What is left may be superseded.
      const third = await askIn('Third');
      expect((await run.asked.answer()).done).toEqual([{ status: 'cancelled' }]);
      if (sessionPolicy === 'enqueue') await end('Second');
      else expect((await second.answer()).done).toEqual([{ status: 'cancelled' }]);
      await end('Third');
      await Promise.all([second.whole(), third.whole()]);
    },
  );

  it(promise('asking.held-request', 'or is refused, with sessionPolicy reject'), async () => {
    await start({ sessionPolicy: 'reject' });
    const run = await askingRun(host, agent, [{ ...REFUND, hold: true }], SESSION);
    expect((await askIn('Second')).status).toBe(409);
    await answer(host.url, run.runId, [declined('refund-881')]);
    await finish(run);
  });

  it(promise('asking.queue'), async () => {
    await start();
    const first = await askIn('First');
    const call = await agent.callFor('First');
    const others = [await askIn('Second'), await askIn('Third')];
    const answers = call.context.ask([REFUND]);
    await first.until('input_required');
    // They were there before: they do not take its place.
    expect(await sessionAt()).toMatchObject({ asking: first.runId, waiting: 2 });
    await answer(host.url, first.runId, [YES]);
    await answers;
    call.finish();
    await first.whole();
    for (const [index, text] of ['Second', 'Third'].entries()) {
      await end(text);
      await others[index]!.whole();
    }
    expect(agent.calls.map(({ text }) => text)).toEqual(['First', 'Second', 'Third']);
  });

  it(promise('asking.queue', 'also when a newer query supersedes it'), async () => {
    await start();
    const first = await askIn('First');
    const call = await agent.callFor('First');
    const second = await askIn('Second');
    void call.context.ask([REFUND]).catch(() => undefined);
    await first.until('input_required');
    const third = await askIn('Third');
    await third.until('1 ahead');
    await end('Second');
    await end('Third');
    await Promise.all([first.whole(), second.whole(), third.whole()]);
    expect(agent.calls.map(({ text }) => text)).toEqual(['First', 'Second', 'Third']);
    await eventually(async () => ((await sessionAt())['turns'] as unknown[]).length === 3);
  });
});
