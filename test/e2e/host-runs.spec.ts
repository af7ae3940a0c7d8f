import { AsyncLocalStorage } from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';
import { type INestApplication, Inject, Injectable, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import {
  AgentHandler,
  AgentService,
  type Envelope,
  type HandlerFunction,
  message,
  type Query,
  type QueryContext,
  QueryError,
  QueryModule,
  type RunAdmitted,
  type RunEnded,
  type RunListener,
  type RunRequest,
  type RunStarted,
} from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, cancel, follow, request } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent, startHost } from '../support/host.js';
import { OperatorLog } from '../support/operator-log.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const QUICK = { drainMs: 0, stopDeadlineMs: 100 };

describeOnOneAdapter('The runs of a host, on %s', (adapter) => {
  let host: Host;
  afterEach(() => host.close());

  it(promise('module.async-context'), async () => {
    const users = new AsyncLocalStorage<string>();
    const scripted = new ScriptedAgent();
    const seen: (string | undefined)[] = [];
    const handler = async function* (query: Query, context: QueryContext) {
      seen.push(users.getStore());
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(users.getStore());
      yield* (await scripted.handler(query, context)) as AsyncIterable<Envelope>;
    };
    const configure = (app: INestApplication) =>
      app.use((incoming: { headers: Record<string, string> }, _: unknown, next: () => void) =>
        users.run(incoming.headers['x-user']!, next),
      );
    host = await startAgent(adapter, handler as never, { runs: { ...QUICK, maxRunning: 1 } }, configure);
    const first = await ask(host.url, '1', { headers: { 'x-user': 'ann' } });
    const second = await ask(host.url, '2', { headers: { 'x-user': 'ben' } });
    await second.until('Waiting for a slot');
    (await scripted.call(1)).finish();
    (await scripted.call(2)).finish();
    await Promise.all([first.whole(), second.whole()]);
    expect(seen).toEqual(['ann', 'ann', 'ben', 'ben']);
  });

  it(promise('module.async-context', 'another request stops it'), async () => {
    const users = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const handler: HandlerFunction = async function* (_, { signal }) {
      signal.addEventListener('abort', () => seen.push(users.getStore()));
      try {
        yield message('1');
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      } finally {
        seen.push(users.getStore());
      }
    };
    const configure = (app: INestApplication) =>
      app.use((incoming: { method: string }, _: unknown, next: () => void) =>
        users.run(incoming.method, next),
      );
    host = await startAgent(adapter, handler, {}, configure);
    const connection = await ask(host.url);
    await connection.until('"1"');
    expect((await cancel(host.url, connection.runId)).status).toBe(200);
    expect(seen).toEqual(['POST', 'POST']);
    await connection.whole();
  });

  it(promise('module.request-scope'), async () => {
    let made = 0;
    @Injectable({ scope: Scope.REQUEST })
    class PerRun {
      readonly number = ++made;
      constructor(@Inject(REQUEST) readonly run: RunRequest) {}
    }
    @Injectable()
    class ScopedHandler extends AgentHandler {
      constructor(private readonly perRun: PerRun) {
        super();
      }
      async *handle(_: Query, { runId, signal }: QueryContext) {
        const { number, run } = this.perRun;
        yield message(`${number} ${String(run.runId === runId)} ${run.owner}`);
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      }
    }
    const module = QueryModule.forRoot({ handler: ScopedHandler, runs: QUICK });
    module.providers!.push(PerRun);
    host = await startHost(adapter, module);
    expect(host.app.get(AgentService, { strict: false })).toBe(host.agent);
    for (const number of [1, 2]) {
      const connection = await ask(host.url);
      await connection.until('"}}');
      expect((await cancel(host.url, connection.runId)).status).toBe(200);
      const answer = { text: `${number} true anonymous`, done: [{ status: 'cancelled' }] };
      expect(await connection.answer()).toEqual(answer);
      expect(await (await follow(host.url, connection.runId)).answer()).toEqual(answer);
    }
  });

  it(promise('module.abandoned'), async () => {
    const scripted = new ScriptedAgent();
    host = await startAgent(adapter, scripted.handler, { runs: { drainMs: 60_000, stopDeadlineMs: 60_000 } });
    const connection = await ask(host.url);
    const call = await scripted.call(1);
    connection.cut();
    await eventually(() => host.agent.load().followers === 0);
    await host.close();
    await call.stopped;
  });

  it(promise('module.admit'), async () => {
    const scripted = new ScriptedAgent();
    const asked: unknown[] = [];
    host = await startAgent(adapter, scripted.handler, {
      owner: ({ headers }) => headers['x-owner'] as string | undefined,
      admit: async ({ parts }, { owner, request: incoming, idempotencyKey, detached }) => {
        await Promise.resolve();
        asked.push([parts, owner, incoming?.headers['x-owner'], idempotencyKey, detached]);
        if (owner === 'poor') {
          throw new QueryError('quota_exceeded', 'The quota is used up.', { status: 402, retryAfter: 60 });
        }
      },
    });
    const refused = await ask(host.url, 'Hello', { headers: { 'x-owner': 'poor', 'idempotency-key': 'k' } });
    expect(refused.status).toBe(402);
    expect(refused.headers['retry-after']).toBe('60');
    expect(await refused.whole()).toBe(
      '{"type":"about:blank","title":"Payment Required","status":402,"detail":"The quota is used up.","code":"quota_exceeded"}',
    );
    expect(asked).toEqual([[[{ type: 'text', text: 'Hello' }], 'poor', 'poor', 'k', false]]);

    const admitted = await ask(host.url, 'Hello', { headers: { 'x-owner': 'rich' } });
    (await scripted.call(1)).fail(new QueryError('quota_exceeded', 'The quota is used up.', { status: 402 }));
    expect((await admitted.answer()).done).toEqual([
      { status: 'failed', error: { code: 'quota_exceeded', message: 'The quota is used up.' } },
    ]);
    expect(scripted.calls).toHaveLength(1);
  });

  it(promise('module.admit-fails'), async () => {
    const admit = () => Promise.reject(new Error('secret'));
    host = await startAgent(adapter, new ScriptedAgent().handler, { admit });
    const operator = OperatorLog.of(host.app);
    const refused = await ask(host.url);
    expect(await refused.json()).toEqual({
      type: 'about:blank',
      title: 'Internal Server Error',
      status: 500,
      detail: 'The service failed, and has logged the cause. Try again later.',
      code: 'internal',
    });
    expect(operator.troubles.join()).toContain('secret');
  });

  it(promise('module.listeners'), async () => {
    const events: unknown[] = [];
    @Injectable()
    class Listener implements RunListener {
      admitted({ run, waits }: RunAdmitted) {
        events.push(['admitted', run.owner, run.sessionId, run.attempt, waits]);
        throw new Error('A listener failed.');
      }
      async started({ waitedMs }: RunStarted) {
        events.push(['started', waitedMs >= 0]);
        await Promise.reject(new Error('A listener failed later.'));
      }
      ended({ run, waitedMs, executedMs, firstEnvelopeMs, ...rest }: RunEnded) {
        events.push(['ended', run.id, waitedMs >= 0, executedMs! >= firstEnvelopeMs!, rest]);
      }
      unfollowed({ followers }: { followers: number }) {
        events.push(['unfollowed', followers]);
      }
    }
    const published: unknown[] = [];
    const onFollowed = (event: unknown) => published.push(event);
    diagnostics.subscribe('nest-agent-query:followed', onFollowed);
    const scripted = new ScriptedAgent();
    const module = QueryModule.forRoot({ handler: scripted.handler, runs: QUICK, listeners: [Listener] });
    host = await startHost(adapter, module);
    const operator = OperatorLog.of(host.app);
    const connection = await ask(host.url, 'Hello', { kwargs: { session_id: 's' } });
    const call = await scripted.call(1);
    call.emit(message('Hi'), { type: 'usage', data: { inputTokens: 2, outputTokens: 3, model: 'm' } });
    call.emit({ type: 'usage', data: { inputTokens: 10, outputTokens: 0, constructor: 1 } });
    call.finish();
    await connection.whole();
    await host.idle();
    diagnostics.unsubscribe('nest-agent-query:followed', onFollowed);
    expect(published).toEqual([{ runId: connection.runId, followers: 1 }]);
    expect(events).toEqual([
      ['admitted', 'anonymous', 's', 1, false],
      ['started', true],
      [
        'ended',
        connection.runId,
        true,
        true,
        {
          status: 'completed',
          errorCode: undefined,
          envelopes: 4,
          length: 187,
          usage: { inputTokens: 12, outputTokens: 3, constructor: 1 },
        },
      ],
      ['unfollowed', 0],
    ]);
    await eventually(() => operator.troubles.length === 2);
    expect(operator.troubles.join()).toContain('A listener failed at the event "admitted".');
  });

  it(promise('module.interceptors'), async () => {
    const scripted = new ScriptedAgent();
    const finished: unknown[] = [];
    const configure = (app: INestApplication) =>
      app.useGlobalInterceptors({
        intercept: async (_, next) => {
          const { tap } = await import('rxjs');
          return next.handle().pipe(tap((value) => finished.push(value)));
        },
      });
    host = await startAgent(adapter, scripted.handler, {}, configure);
    const connection = await ask(host.url);
    await eventually(() => finished.length === 1);
    expect(finished).toEqual([undefined]);
    (await scripted.call(1)).finish();
    await connection.whole();
    expect((await request(host.url, { method: 'GET', path: '/none' })).status).toBe(404);
  });
});
