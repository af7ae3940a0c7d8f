import { Subject } from 'rxjs';
import {
  type Envelope,
  type HandlerFunction,
  message,
  type Query,
  type QueryContext,
  type ResolvedInput,
} from '../../../src/index.js';
import { promise } from '../../promises.js';
import {
  answer,
  answered,
  askingRun,
  asks,
  finish,
  jsonAt,
  quarter,
  REFUND,
  YES,
} from '../../support/asking.js';
import { ask, cancel, envelopesOf, FULL } from '../../support/client.js';
import { deferred, eventually } from '../../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../../support/host.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

describeOnOneAdapter('A handler that asks, on %s', (adapter) => {
  let host: Host;
  const agent = () => new ScriptedAgent();
  const start = async (handler: HandlerFunction) => (host = await startAgent(adapter, handler));
  const startScripted = async (scripted = agent()) => {
    await start(scripted.handler);
    return scripted;
  };
  afterEach(() => host.close());
  const typesOf = (text: string) =>
    envelopesOf(text).map(({ type, data }) => {
      return type === 'message' ? (data as { content: string }).content : type;
    });

  it(promise('ask.order', 'an Observable'), async () => {
    const subject = new Subject<Envelope>();
    const answers = deferred<ResolvedInput[]>();
    await start((_, context) => {
      setImmediate(() => {
        subject.next(message('before'));
        void context.ask([REFUND]).then((resolved) => {
          subject.next(message('after'));
          subject.complete();
          answers.resolve(resolved);
        });
        subject.next(message('behind 1'));
        subject.next(message('behind 2'));
      });
      return subject;
    });
    const asked = await ask(host.url, 'Hi', { headers: FULL });
    await asked.until('input_required');
    subject.next(message('behind 3'));
    await answer(host.url, asked.runId, [YES]);
    await answers.promise;
    expect(typesOf(await asked.whole())).toEqual([
      'before',
      'input_required',
      'input_resolved',
      'behind 1',
      'behind 2',
      'behind 3',
      'after',
      'done',
    ]);
  });

  it(promise('ask.order', 'an Observable that emits no envelope behind its question'), async () => {
    const rejected = deferred<unknown>();
    const subject = new Subject<Envelope>();
    await start((_, context) => {
      setImmediate(() => {
        context.ask([REFUND]).catch(() => undefined);
        subject.next('no envelope' as never);
        context.ask([quarter()]).catch((reason: unknown) => rejected.resolve(reason));
      });
      return subject;
    });
    const asked = await ask(host.url, 'Hi', { headers: FULL });
    await asked.until('input_required');
    await answer(host.url, asked.runId, [YES]);
    expect(await rejected.promise).toMatchObject({ message: 'The run is failed.' });
    expect((await asked.answer()).done).toMatchObject([{ error: { code: 'invalid_envelope' } }]);
  });

  it(promise('ask.order', 'a generator that ends without waiting'), async () => {
    await start(async function* (_: Query, context: QueryContext) {
      yield message('before');
      void context.ask([REFUND]);
      yield message('behind');
    });
    const asked = await ask(host.url, 'Hi', { headers: FULL });
    await asked.until('input_required');
    await answer(host.url, asked.runId, [YES]);
    expect(typesOf(await asked.whole())).toEqual([
      'before',
      'input_required',
      'input_resolved',
      'behind',
      'done',
    ]);
  });

  it(promise('ask.parallel'), async () => {
    const scripted = await startScripted();
    const run = await askingRun(host, scripted);
    const second = asks(run.call, [quarter()]);
    expect(await jsonAt(host.url, '/query/inputs')).toMatchObject({ inputs: [{ id: 'refund-881' }] });
    await answer(host.url, run.runId, [YES]);
    await run.asked.until('quarter');
    await answer(host.url, run.runId, [answered('quarter', 'Q1')]);
    expect([await run.answers, await second]).toMatchObject([[YES], [answered('quarter', 'Q1')]]);
    const log = await finish(run);
    expect(typesOf(log)).toEqual([
      'input_required',
      'input_resolved',
      'input_required',
      'input_resolved',
      'done',
    ]);
  });

  it(promise('ask.ended'), async () => {
    const scripted = await startScripted(new ScriptedAgent(true));
    const run = await askingRun(host, scripted);
    const second = asks(run.call, [quarter()]);
    const cancelling = cancel(host.url, run.runId);
    await eventually(() => run.call.context.signal.aborted);
    const { reason } = run.call.context.signal as { reason: Error };
    for (const asking of [
      run.answers,
      second,
      asks(run.call, [quarter({ key: 'new' })]),
      asks(run.call, [REFUND]),
    ])
      await expect(asking).rejects.toBe(reason);
    // What a handler emits that caught it is dropped.
    run.call.emit(message('Nevertheless.'));
    run.call.finish();
    expect((await cancelling).status).toBe(200);
    expect(typesOf(await run.asked.whole())).toEqual([
      'input_required',
      'input_resolved',
      'tool_result',
      'done',
    ]);
    await expect(asks(run.call, [quarter({ key: 'late' })])).rejects.toBe(reason);
  });

  it(
    promise('ask.ended', 'also a run that asks for the first time when it was stopped, or has completed'),
    async () => {
      const scripted = await startScripted(new ScriptedAgent(true));
      const asked = await ask(host.url, 'Hi');
      const call = await scripted.call(1);
      const cancelling = cancel(host.url, asked.runId);
      await eventually(() => call.context.signal.aborted);
      await expect(asks(call, [REFUND])).rejects.toBe(call.context.signal.reason);
      call.finish();
      await cancelling;
      expect(typesOf(await asked.whole())).toEqual(['done']);
      const completed = await ask(host.url, 'Completed');
      const second = await scripted.callFor('Completed');
      second.finish();
      await completed.whole();
      await expect(asks(second, [REFUND])).rejects.toThrow('The run has ended.');
    },
  );
});
