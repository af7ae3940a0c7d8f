import { SpanStatusCode, trace } from '@opentelemetry/api';
import { AlwaysOffSampler, AlwaysOnSampler } from '@opentelemetry/sdk-trace-node';
import { Observable } from 'rxjs';
import {
  type Envelope,
  type HandlerFunction,
  type InputAnswer,
  isApproved,
  message,
  type Query,
  type QueryContext,
} from '../../src/index.js';
import { openTracer } from '../../src/telemetry/index.js';
import { promise } from '../promises.js';
import { answer } from '../support/answers.js';
import { ask, cancel, follow, type Reply } from '../support/client.js';
import { deferred, eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { idOf, linksOf, parentOf, Spans, traceIdOfSpan, traceparentOf } from '../support/spans.js';
import { RUN_SPAN, startTraced, step, USAGE } from '../support/traced-host.js';

const tick = () => new Promise((resolve) => setImmediate(resolve));

/** A handler of each form that makes a span `early` when it is called, and `late` after it has waited. */
const HANDLERS: [string, HandlerFunction][] = [
  [
    'an async generator',
    async function* () {
      step('early');
      await tick();
      yield message('1');
      await tick();
      step('late');
      yield USAGE;
    },
  ],
  [
    'an Observable',
    () => {
      step('early');
      return new Observable<Envelope>((subscriber) => {
        setImmediate(() => {
          subscriber.next(message('1'));
          step('late');
          subscriber.next(USAGE);
          subscriber.complete();
        });
      });
    },
  ],
  [
    'a promise of an async iterable',
    async () => {
      step('early');
      await tick();
      return (async function* () {
        yield message('1');
        await tick();
        step('late');
        yield USAGE;
      })();
    },
  ],
];

/** Asks for one approval and one text, and makes a span afterwards. */
async function* asking(_: Query, context: QueryContext) {
  const answers = await context.ask([
    { key: 'a', kind: 'approval', message: 'secret?' },
    { key: 'b', kind: 'input', message: 'secret?' },
  ]);
  step('late');
  yield message(`${isApproved(answers[0])}`);
}

const APPROVED: InputAnswer = { id: 'a', outcome: 'answered', value: { approved: true } };
const TEXT: InputAnswer = { id: 'b', outcome: 'answered', value: 'secret' };

let spans: Spans;
let host: Host | undefined;
beforeEach(() => {
  spans = Spans.start();
});
afterEach(async () => {
  await host?.close();
  host = undefined;
  await spans.stop();
});

describeOnOneAdapter('The traces of runs, on %s', (adapter) => {
  it.each(HANDLERS)(promise('traces.run', 'the handler is %s'), async (_, handler) => {
    host = await startTraced(adapter, handler);
    const caller = traceparentOf(1);
    const headers = { traceparent: caller.traceparent, tracestate: 'a=1' };
    const reply = await ask(host.url, 'Hello', { kwargs: { session_id: 's' }, headers });
    await reply.whole();

    const run = await spans.only(RUN_SPAN);
    expect([parentOf(run), traceIdOfSpan(run)]).toEqual([caller.spanId, caller.traceId]);
    expect(run.spanContext().traceState?.serialize()).toBe('a=1');
    expect(run.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'nest_agent_query',
      'gen_ai.agent.name': 'tester',
      'gen_ai.conversation.id': 's',
      'gen_ai.usage.input_tokens': 5,
      'gen_ai.usage.output_tokens': 7,
      'nest_agent_query.run.id': reply.runId,
      'nest_agent_query.run.status': 'completed',
    });
    expect(run.status.code).toBe(SpanStatusCode.UNSET);
    const execution = await spans.only('execute_run');
    expect(execution.attributes).toEqual({
      'nest_agent_query.run.id': reply.runId,
      'nest_agent_query.run.attempt': 1,
      'nest_agent_query.run.status': 'completed',
    });
    expect(parentOf(await spans.only('admit_run'))).toBe(idOf(run));
    expect(parentOf(execution)).toBe(idOf(run));
    for (const name of ['early', 'late']) expect(parentOf(await spans.only(name))).toBe(idOf(execution));
    expect(new Set(spans.all.map(traceIdOfSpan)).size).toBe(1);
  });

  it.each([undefined, '00-00000000000000000000000000000000-00f067aa0ba902b7-01'])(
    promise('traces.run', 'without a valid traceparent it is a root: %s'),
    async (traceparent) => {
      host = await startTraced(adapter, HANDLERS[0]![1]);
      await (await ask(host.url, 'Hello', { headers: traceparent ? { traceparent } : {} })).whole();
      const run = await spans.only(RUN_SPAN);
      expect(parentOf(run)).toBeUndefined();
      expect(parentOf(await spans.only('late'))).toBe(idOf(await spans.only('execute_run')));
    },
  );

  it(promise('traces.run', 'it was submitted within a span of the host'), async () => {
    host = await startTraced(adapter, HANDLERS[0]![1]);
    const { agent } = host;
    await trace.getTracer('host').startActiveSpan('job', async (job) => {
      const done = deferred();
      agent
        .query({ parts: [{ type: 'text', text: 'Hello' }], kwargs: {} })
        .subscribe({ complete: () => done.resolve() });
      await done.promise;
      job.end();
    });
    expect(parentOf(await spans.only(RUN_SPAN))).toBe(idOf(await spans.only('job')));
    expect(parentOf(await spans.only('late'))).toBe(idOf(await spans.only('execute_run')));
  });

  it(promise('traces.asking'), async () => {
    host = await startTraced(adapter, asking);
    const reply = await ask(host.url);
    await reply.until('input_required');
    await answer(host.url, reply.runId, APPROVED);
    expect(spans.all.map(({ name }) => name)).toEqual(['admit_run']);
    await answer(host.url, reply.runId, TEXT);
    await reply.whole();

    const pause = await spans.only('await_input');
    const execution = await spans.only('execute_run');
    expect(parentOf(pause)).toBe(idOf(await spans.only(RUN_SPAN)));
    expect(pause.attributes).toEqual({
      'nest_agent_query.run.id': reply.runId,
      'nest_agent_query.input.requests': 2,
    });
    expect(parentOf(await spans.only('late'))).toBe(idOf(execution));
    expect(JSON.stringify(spans.all.map(({ attributes, events }) => [attributes, events]))).not.toContain(
      'secret',
    );
  });

  it.each([
    ['it is cancelled', 'cancelled'],
    ['a newer query takes its place', 'cancelled'],
  ])(promise('traces.asking', '%s'), async (how, status) => {
    host = await startTraced(adapter, asking);
    const kwargs = { session_id: 's' };
    const reply = await ask(host.url, 'Hello', { kwargs });
    await reply.until('input_required');
    if (how === 'it is cancelled') await cancel(host.url, reply.runId);
    else {
      const newer = await ask(host.url, 'Hello', { kwargs });
      await cancel(host.url, newer.runId);
    }
    await reply.whole();
    const [pause] = await spans.named('await_input');
    expect(pause!.attributes).toMatchObject({ 'nest_agent_query.run.id': reply.runId });
    const runs = await spans.named(RUN_SPAN);
    expect(runs[0]!.attributes).toMatchObject({ 'nest_agent_query.run.status': status });
  });

  it(promise('traces.end', 'it fails'), async () => {
    const handler = async function* () {
      yield USAGE;
      throw new Error('secret');
    };
    host = await startTraced(adapter, handler);
    await (await ask(host.url)).whole();
    for (const name of ['execute_run', RUN_SPAN]) {
      const span = await spans.only(name);
      expect([span.status, span.attributes['error.type']]).toEqual([
        { code: SpanStatusCode.ERROR },
        'handler_failed',
      ]);
    }
    expect((await spans.only(RUN_SPAN)).attributes['gen_ai.usage.input_tokens']).toBe(5);
    const recorded = spans.all.map(({ attributes, events, status }) => ({ attributes, events, status }));
    expect(JSON.stringify(recorded)).not.toMatch(/secret|Hello|anonymous/);
  });

  it(promise('traces.end', 'it is cancelled, and its handler cleans up'), async () => {
    const handler: HandlerFunction = async function* (_, { signal }) {
      signal.addEventListener('abort', () => step('aborted'));
      try {
        yield message('1');
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      } finally {
        step('cleaned up');
      }
    };
    host = await startTraced(adapter, handler);
    const reply = await ask(host.url);
    await reply.until('"1"');
    await trace.getTracer('host').startActiveSpan('cancels', async (span) => {
      expect((await host!.agent.cancel('anonymous', reply.runId)).stopped).toBe(true);
      span.end();
    });
    await reply.whole();
    const execution = await spans.only('execute_run');
    for (const span of [execution, await spans.only(RUN_SPAN)]) {
      expect(span.status).toEqual({ code: SpanStatusCode.UNSET });
      expect(span.attributes).toMatchObject({ 'nest_agent_query.run.status': 'cancelled' });
    }
    for (const name of ['aborted', 'cleaned up'])
      expect(parentOf(await spans.only(name))).toBe(idOf(execution));
  });

  it(promise('traces.end', 'its handler does not stop'), async () => {
    const never = deferred();
    const handler: HandlerFunction = async function* () {
      yield message('1');
      await never.promise;
    };
    host = await startTraced(adapter, handler);
    const reply = await ask(host.url);
    await reply.until('"1"');
    expect((await cancel(host.url, reply.runId)).status).toBe(202);
    for (const name of ['execute_run', RUN_SPAN])
      expect((await spans.only(name)).attributes).toMatchObject({
        'nest_agent_query.run.status': 'cancelled',
      });
    never.resolve();
    await host.idle();
    expect(spans.all).toHaveLength(3);
  });

  it(promise('traces.waiting'), async () => {
    const scripted = new ScriptedAgent();
    const handler: HandlerFunction = async (query, context) => {
      const answer = await scripted.handler(query, context);
      step(`step of ${context.runId}`);
      return answer;
    };
    host = await startTraced(adapter, handler, { runs: { maxRunning: 1 } });
    const callers = [traceparentOf(1), traceparentOf(2), traceparentOf(3)];
    const replies: Reply[] = [];
    for (const { traceparent } of callers)
      replies.push(await ask(host.url, 'Hello', { headers: { traceparent } }));
    await cancel(host.url, replies[2]!.runId);
    (await scripted.call(1)).finish();
    (await scripted.call(2)).finish();
    for (const reply of replies) await reply.whole();
    const runs = await spans.named(RUN_SPAN, 3);
    const runOf = (id: string) => runs.find((span) => span.attributes['nest_agent_query.run.id'] === id)!;
    for (const [index, waits] of [false, true, true].entries()) {
      const run = runOf(replies[index]!.runId);
      expect(parentOf(run)).toBe(callers[index]!.spanId);
      const admission = spans.all.find((span) => span.name === 'admit_run' && parentOf(span) === idOf(run));
      expect(admission!.attributes['nest_agent_query.run.waits']).toBe(waits);
    }
    const executions = await spans.named('execute_run', 2);
    expect(executions.map(parentOf)).toEqual(replies.slice(0, 2).map(({ runId }) => idOf(runOf(runId))));
    for (const [index, execution] of executions.entries())
      expect(parentOf(await spans.only(`step of ${replies[index]!.runId}`))).toBe(idOf(execution));
    expect(runOf(replies[2]!.runId).attributes['nest_agent_query.run.status']).toBe('cancelled');
  });

  it(promise('traces.refused'), async () => {
    const scripted = new ScriptedAgent();
    host = await startTraced(adapter, scripted.handler, { runs: { sessionPolicy: 'reject' } });
    const kwargs = { session_id: 's' };
    const headers = { 'idempotency-key': 'k' };
    const reply = await ask(host.url, 'Hello', { kwargs, headers });
    expect((await ask(host.url, 'Hello', { kwargs })).status).toBe(409);
    const [refused] = await spans.named(RUN_SPAN);
    expect([refused!.status.code, refused!.attributes['error.type']]).toEqual([
      SpanStatusCode.ERROR,
      'session_busy',
    ]);

    const repeated = await ask(host.url, 'Hello', { kwargs, headers });
    (await scripted.call(1)).finish();
    await Promise.all([reply.whole(), repeated.whole()]);
    const [, again, run] = await spans.named(RUN_SPAN, 3);
    expect(again!.attributes).toMatchObject({
      'nest_agent_query.run.id': reply.runId,
      'nest_agent_query.run.repeated': true,
    });
    expect(linksOf(again!)).toEqual([idOf(run!)]);
    expect(run!.attributes).not.toHaveProperty(['nest_agent_query.run.repeated']);
    expect(await spans.named('execute_run')).toHaveLength(1);
  });

  it(promise('traces.resume'), async () => {
    const scripted = new ScriptedAgent();
    host = await startTraced(adapter, scripted.handler);
    const reply = await ask(host.url, 'Hello', { headers: { traceparent: traceparentOf(1).traceparent } });
    const call = await scripted.call(1);
    call.emit(message('1'));
    await reply.until('"1"');
    reply.cut();
    const lastEventId = { 'last-event-id': `${reply.runId}.1` };
    const callers = [traceparentOf(2), traceparentOf(3)];
    const resumed = [
      await follow(host.url, reply.runId, { ...lastEventId, traceparent: callers[0]!.traceparent }),
      await ask(host.url, '', { headers: { ...lastEventId, traceparent: callers[1]!.traceparent } }),
    ];
    call.finish();
    for (const each of resumed) await each.whole();
    const run = await spans.only(RUN_SPAN);
    const resumes = await spans.named('resume_run', 2);
    expect(resumes.map(parentOf)).toEqual(callers.map(({ spanId }) => spanId));
    expect(resumes.map(traceIdOfSpan)).toEqual(callers.map(({ traceId }) => traceId));
    expect(resumes.map(linksOf)).toEqual([[idOf(run)], [idOf(run)]]);
    expect(resumes.map(({ attributes }) => attributes)).toEqual(
      resumes.map(() => ({
        'nest_agent_query.run.id': reply.runId,
        'nest_agent_query.resume.after': 1,
      })),
    );

    const unknown = await ask(host.url, '', { headers: { 'last-event-id': 'unknown.1' } });
    expect(unknown.status).toBe(404);
    const [, , failed] = await spans.named('resume_run', 3);
    expect([failed!.status.code, failed!.attributes['error.type']]).toEqual([
      SpanStatusCode.ERROR,
      'not_found',
    ]);
  });

  it.each([
    ['a tracer and an SDK', true, new AlwaysOnSampler()],
    ['a tracer and an SDK that samples nothing', true, new AlwaysOffSampler()],
    ['a tracer', true, undefined],
    ['neither a tracer nor an SDK', false, undefined],
  ])(promise('traces.id', 'with %s'), async (_, hasTracer, sampler) => {
    await spans.stop();
    if (sampler) spans = Spans.start(sampler);
    const seen: unknown[] = [];
    const note = ({ run }: { run: { traceId: string | undefined } }) => void seen.push(run.traceId);
    const listeners = [{ admitted: note, started: note, ended: note }];
    host = await startTraced(adapter, HANDLERS[0]![1], {
      listeners,
      ...(!hasTracer && { tracer: undefined as never }),
    });
    const { traceparent, traceId } = traceparentOf(4);
    await (await ask(host.url, 'Hello', { headers: { traceparent } })).whole();
    await eventually(() => seen.length === 3);
    expect(seen.splice(0)).toEqual([traceId, traceId, traceId]);
    await (await ask(host.url, 'Hello', { headers: { traceparent: `${traceparent}0` } })).whole();
    await eventually(() => seen.length === 3);
    const other: unknown = sampler ? expect.stringMatching(/^[0-9a-f]{32}$/) : undefined;
    expect(seen).toEqual([other, other, other]);
    expect(seen).not.toContain(traceId);
  });

  it(promise('traces.tracer-fails'), async () => {
    const tracer = await openTracer();
    const fail = () => {
      throw new Error('The tracer failed.');
    };
    const submitted = tracer.submitted.bind(tracer);
    tracer.submitted = (run) => {
      const traced = submitted(run)!;
      let steps = 0;
      return {
        trace: undefined,
        // Before its step, or after it.
        within: (step) => {
          if (++steps % 2 === 1) fail();
          traced.within(step);
          return fail();
        },
        admitted: fail,
        repeated: fail,
        refused: fail,
        started: fail,
        paused: fail,
        resumed: fail,
        stopped: fail,
        ended: fail,
      };
    };
    tracer.resumed = fail;
    host = await startTraced(adapter, asking, { tracer });
    const reply = await ask(host.url);
    await reply.until('input_required');
    await answer(host.url, reply.runId, APPROVED, TEXT);
    expect((await reply.answer()).done).toEqual([{ status: 'completed' }]);
    expect((await (await follow(host.url, reply.runId)).answer()).text).toBe('true');
    await host.idle();
  });
});
