/** @jest-environment-options {"isIsolated": true} */
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { Observable } from 'rxjs';
import { casesOf } from '../../../test/support/long-form.js';
import { ScriptedAgent } from '../../../test/support/scripted-agent.js';
import { SlowRunStore, ticks } from '../../../test/support/slow-run-store.js';
import { AgentService, type QueryOptions } from './agent.service.js';
import { message } from '../contract/envelopes.js';
import { type QueryError } from '../contract/errors.js';
import { MemoryRunStore } from '../memory/memory-run-store.js';
import type { HandlerFunction, Query } from '../ports/agent-handler.js';
import type { StoreHost, RunRecord, RunStore } from '../ports/run-store.js';
import { type RunOptions } from '../options/query.options.js';
import { Settings } from '../options/settings.js';
import type { Envelope } from 'nest-agent-query-client';
import { Clock } from '../platform/clock.js';
import { Spool } from '../files/spool.js';

/** Nothing lies in it. */
const spool = await Spool.open();
const clock = new Clock();

const IDLE = { running: 0, waiting: 0, asking: 0, followers: 0, overdue: 0 };
const DRAIN_MS = 1_000;
const TIMEOUT_MS = 5_000;
const STOP_MS = 500;

/** A service whose runs a test watches from their admission to their end. */
class Watched {
  readonly scripted: ScriptedAgent;
  readonly agent: AgentService;
  readonly runs: WatchedRun[] = [];

  constructor(
    readonly store: RunStore,
    options: Partial<RunOptions> = {},
    isDeaf = false,
  ) {
    this.scripted = new ScriptedAgent(isDeaf);
    const runs = { timeoutMs: TIMEOUT_MS, stopDeadlineMs: STOP_MS, drainMs: DRAIN_MS, ...options };
    this.agent = new AgentService(
      store,
      { handle: this.scripted.handler },
      new Settings({ runs }),
      spool,
      clock,
    );
  }

  query(text: string, session?: string, options: QueryOptions = {}): WatchedRun {
    const query: Query = {
      parts: [{ type: 'text', text }],
      kwargs: session === undefined ? {} : { session_id: session },
    };
    const run = new WatchedRun(this, query, options);
    this.runs.push(run);
    return run;
  }

  /** The envelopes of a run as the store has them. */
  async log(runId: string): Promise<Envelope[]> {
    const { count, lines } = await this.store.read({ owner: 'anonymous', id: runId }, 0);
    return count === 0 ? [] : lines.split('\n').map((text) => JSON.parse(text) as Envelope);
  }
}

/** A run and one follower of it. */
class WatchedRun {
  readonly received: Envelope[] = [];
  releases = 0;
  runId: string | undefined;
  outcome: 'complete' | QueryError | undefined;
  readonly leave: () => void;

  constructor(watched: Watched, query: Query, options: QueryOptions) {
    const stream = watched.agent.query(query, { ...options, release: () => void this.releases++ });
    stream.admitted.then(
      ({ run }) => (this.runId = run!.id),
      () => undefined,
    );
    const subscription = stream.subscribe({
      next: (envelope) => this.received.push(envelope),
      error: (error: QueryError) => (this.outcome = error),
      complete: () => (this.outcome = 'complete'),
    });
    this.leave = () => subscription.unsubscribe();
  }

  get done(): unknown[] {
    return this.received.filter(({ type }) => type === 'done').map(({ data }) => data);
  }
}

/** Waits without end, but a test's own time limit. */
async function until(condition: () => unknown): Promise<void> {
  while (!condition()) await ticks(1);
}

/** Lets time pass, and the store work all the while. */
async function pass(time: number): Promise<void> {
  for (let passed = 0; passed < time; passed += STOP_MS) {
    await ticks(30);
    jest.advanceTimersByTime(STOP_MS);
  }
  await ticks(30);
}

function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask'] });
  jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
  jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
});
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

const STORES: [string, (seed: number) => RunStore][] = [
  ['a store that answers at once', () => new MemoryRunStore()],
  [
    'a store that takes its time',
    (seed) => {
      const next = random(seed);
      return new SlowRunStore(() => next(4));
    },
  ],
];

describe.each(STORES)('Whatever happens to a run at the same time, with %s', (_, storeOf) => {
  const EVENTS = {
    finish: (watched: Watched) => void watched.scripted.callFor('first').then((call) => call.finish()),
    throw: (watched: Watched) =>
      void watched.scripted.callFor('first').then((call) => call.fail(new Error('secret'))),
    timeout: () => jest.advanceTimersByTime(TIMEOUT_MS),
    cancel: (watched: Watched) =>
      void until(() => watched.runs[0]!.runId).then(() =>
        watched.agent.cancel('anonymous', watched.runs[0]!.runId!),
      ),
    disconnect: (watched: Watched) => watched.runs[0]!.leave(),
    drain: (watched: Watched) => void watched.agent.onModuleDestroy(),
  };
  type Event = keyof typeof EVENTS;
  const names = Object.keys(EVENTS) as Event[];
  const pairs = names.flatMap((one, index) => names.slice(index).map((other) => [one, other] as const));
  const ENDS: Record<Event, string> = {
    finish: 'completed',
    throw: 'handler_failed',
    timeout: 'run_timeout',
    cancel: 'cancelled',
    disconnect: 'cancelled',
    drain: 'interrupted',
  };

  it.each(pairs)('%s and %s: there is one done, the next run starts, nothing is left', async (one, other) => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          seed: fc.nat(),
          isSwapped: fc.boolean(),
          gap: fc.constantFrom(0, 0, 0, 1, 2, 5),
          isDeaf: fc.boolean(),
          // How far the run is when the first event comes: just asked for, …, or well under way.
          head: fc.constantFrom(0, 1, 3, 30),
        }),
        async ({ seed, isSwapped, gap, isDeaf, head }) => {
          const watched = new Watched(storeOf(seed), { disconnect: 'cancel' }, isDeaf);
          const first = watched.query('first', 's');
          const second = watched.query('second', 's');
          await ticks(head);
          const events: Event[] = isSwapped ? [other, one] : [one, other];
          EVENTS[events[0]!](watched);
          await ticks(gap);
          EVENTS[events[1]!](watched);

          // Until a timeout has come for what has only just begun, a drain and its deadlines are over.
          void watched.scripted.callFor('second').then((call) => call.finish());
          await pass(2 * TIMEOUT_MS);
          // A deaf handler stops at last.
          for (const call of watched.scripted.calls) call.finish();
          await ticks(20);

          const history = (await watched.store.turns('anonymous', 's', { after: 0, limit: 9 }))!;
          const texts = history.turns.map(({ parts }) => (parts[0] as { text: string }).text);
          expect(texts.sort()).toEqual(['first', 'second']);
          for (const { runId, parts, end } of history.turns) {
            const log = await watched.log(runId);
            expect(log.filter(({ type }) => type === 'done')).toEqual([log.at(-1)]);
            expect(log.at(-1)).toEqual({ type: 'done', data: end });
            if ((parts[0] as { text: string }).text !== 'first') continue;
            const cause = end.status === 'failed' ? end.error.code : end.status;
            expect(events.map((event) => ENDS[event])).toContain(cause);
            if (events.includes('disconnect')) continue;
            expect(first.received).toEqual(log);
          }
          if (!events.includes('drain') && !events.includes('timeout')) {
            expect(second.done).toEqual([{ status: 'completed' }]);
          }
          expect(second.outcome).toBe('complete');
          expect(second.done).toHaveLength(1);
          expect(watched.scripted.calls.length).toBeLessThanOrEqual(2);
          expect(await watched.store.queue('anonymous', 's')).toEqual([]);
          expect(watched.agent.load()).toEqual(IDLE);
          expect([first.releases, second.releases]).toEqual([1, 1]);
          expect(jest.getTimerCount()).toBe(0);
        },
      ),
      { numRuns: casesOf(25) },
    );
  });
});

describe.each(STORES)('AgentService with %s', (_, storeOf) => {
  it('executes once what is asked twenty times with one key, and gives all the same', async () => {
    const watched = new Watched(storeOf(7));
    const asked = Array.from({ length: 20 }, () => watched.query('first', 's', { idempotencyKey: 'k' }));
    const call = await watched.scripted.callFor('first');
    call.emit(message('a'));
    call.finish();
    await until(() => asked.every(({ outcome }) => outcome));
    for (const { received } of asked) {
      expect(received).toEqual([message('a'), { type: 'done', data: { status: 'completed' } }]);
    }
    expect(watched.scripted.calls).toHaveLength(1);
    expect(asked.map(({ releases }) => releases)).toEqual(Array(20).fill(1));
    expect(watched.agent.load()).toEqual(IDLE);
  });

  it('admits no more at once than there are places, and calls up all that it has admitted', async () => {
    const watched = new Watched(storeOf(3), { maxRunning: 3, maxWaiting: 4 });
    const asked = Array.from({ length: 30 }, (_, index) => watched.query(`${index}`));
    await until(() => asked.filter(({ outcome }) => outcome).length === 23);
    for (const { outcome } of asked) {
      if (outcome) expect(outcome).toMatchObject({ code: 'at_capacity', extras: { retryAfter: 5 } });
    }
    for (let count = 1; count <= 7; count++) {
      const call = await watched.scripted.call(count);
      await ticks(20);
      expect(watched.agent.load().running).toBe(Math.min(3, 8 - count));
      call.finish();
    }
    await until(() => asked.every(({ outcome }) => outcome));
    expect(asked.filter(({ done }) => done.length === 1)).toHaveLength(7);
    expect(asked.every(({ releases }) => releases === 1)).toBe(true);
    expect(watched.agent.load()).toEqual(IDLE);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('refuses no query for which there is a slot, also while it looks for runs that wait', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 0, max: 8 }), async (seed, gap) => {
        const watched = new Watched(storeOf(seed), { maxRunning: 2, maxWaiting: 0 });
        // It looks when it begins, and when the store says so.
        await watched.agent.onApplicationBootstrap();
        await ticks(gap);
        const runs = [watched.query('first'), watched.query('second')];
        for (const text of ['first', 'second']) (await watched.scripted.callFor(text)).finish();
        await until(() => runs.every(({ outcome }) => outcome));
        // Neither was told that it has to wait.
        for (const { received } of runs) expect(received).toHaveLength(1);
        await until(() => Object.values(watched.agent.load()).every((count) => count === 0));
      }),
      { numRuns: casesOf(25) },
    );
  });

  it('answers the queries of a session in order, whatever their runs do', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.array(fc.constantFrom('finish', 'fail', 'cancel', 'leave'), { minLength: 1, maxLength: 8 }),
        async (seed, fates) => {
          const watched = new Watched(storeOf(seed), { disconnect: 'cancel' });
          const next = random(seed);
          const runs: WatchedRun[] = [];
          for (const index of fates.keys()) {
            runs.push(watched.query(`${index}`, 's'));
            await until(() => runs[index]!.runId);
          }
          for (const [index, fate] of fates.entries()) {
            if (next(2) === 0) await ticks(next(5));
            if (fate === 'leave') runs[index]!.leave();
            else if (fate === 'cancel') void watched.agent.cancel('anonymous', runs[index]!.runId!);
            else
              void watched.scripted
                .callFor(`${index}`)
                .then((call) => (fate === 'fail' ? call.fail(1) : call.finish()));
          }
          await until(() => Object.values(watched.agent.load()).every((count) => count === 0));
          const called = watched.scripted.calls.map(({ text }) => Number(text));
          expect(called).toEqual([...called].sort((a, b) => a - b));
          const finishing = [...fates.keys()].filter((index) => ['finish', 'fail'].includes(fates[index]!));
          expect(called).toEqual(expect.arrayContaining(finishing));
          const history = (await watched.store.turns('anonymous', 's', { after: 0, limit: 99 }))!;
          expect(history.total).toBe(fates.length);
          expect(jest.getTimerCount()).toBe(0);
        },
      ),
      { numRuns: casesOf(40) },
    );
  });

  it('interrupts what a newer query of the session stands behind, however fast they come', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 6 }),
        async (seed, gaps) => {
          const watched = new Watched(storeOf(seed), { sessionPolicy: 'interrupt' });
          for (const [index, gap] of gaps.entries()) {
            watched.query(`${index}`, 's');
            await ticks(gap);
          }
          // The store decides which of them came last.
          await ticks(100);
          for (const { context, text } of watched.scripted.calls) {
            if (!context.signal.aborted) (await watched.scripted.callFor(text)).finish();
          }
          await until(() => watched.runs.every(({ outcome }) => outcome));
          const ends = watched.runs.map(({ done: [end] }) => (end as { status: string }).status);
          expect(ends.filter((status) => status === 'completed')).toHaveLength(1);
          expect(ends.filter((status) => status === 'cancelled')).toHaveLength(gaps.length - 1);
          // A cancellation that came after the end of its run looks again soon.
          await pass(STOP_MS);
          expect(watched.agent.load()).toEqual(IDLE);
          expect(jest.getTimerCount()).toBe(0);
        },
      ),
      { numRuns: casesOf(40) },
    );
  });

  it('erases a session in which queries run and wait', async () => {
    const watched = new Watched(storeOf(5));
    const runs = [watched.query('first', 's'), watched.query('second', 's'), watched.query('third', 's')];
    await until(() => runs.every(({ runId }) => runId));
    await watched.agent.erase('anonymous', 's');
    await until(() => runs.every(({ outcome }) => outcome));
    await expect(watched.agent.session('anonymous', 's', 0, 1)).rejects.toMatchObject({ code: 'not_found' });
    for (const { runId } of runs) {
      await expect(watched.agent.find('anonymous', runId!)).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(watched.agent.load()).toEqual(IDLE);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('AgentService with a store that processes share', () => {
  class SharedRunStore extends MemoryRunStore {
    override readonly signals = { isShared: true, send: () => undefined, listen: () => undefined };
    isDetachedElsewhere = false;
    override find(owner: string, runId: string, isFresh = false): RunRecord | undefined {
      const run = super.find(owner, runId);
      return run && isFresh ? { ...run, detached: this.isDetachedElsewhere } : run;
    }
  }

  it.each([
    [true, 'running'],
    [false, 'cancelled'],
  ])(
    'asks whether a run goes on before it is cancelled without followers: %s',
    async (isDetached, status) => {
      const store = new SharedRunStore();
      const watched = new Watched(store, { disconnect: 'cancel' });
      const run = watched.query('first');
      const call = await watched.scripted.callFor('first');
      store.isDetachedElsewhere = isDetached;
      run.leave();
      if (!isDetached) await call.stopped;
      await pass(1);
      expect(await watched.agent.find('anonymous', run.runId!)).toMatchObject({ status });
      await watched.agent.cancel('anonymous', run.runId!);
      expect(watched.agent.load()).toEqual(IDLE);
    },
  );
});

describe('AgentService with a store that processes share, and a run that has ended', () => {
  it('keeps nothing of cancels and followers', async () => {
    const store = new MemoryRunStore();
    const shared = { isShared: true, send: () => undefined, listen: () => undefined };
    const watched = new Watched(Object.assign(store, { signals: shared }));
    const run = watched.query('first');
    (await watched.scripted.callFor('first')).finish();
    await until(() => run.outcome);
    for (let i = 0; i < 3; i++) await watched.agent.cancel('anonymous', run.runId!);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe.each(STORES)('AgentService with %s', (_, open) => {
  it('finds the turn and the parts of a run, which are no longer kept where it belongs to no session', async () => {
    const watched = new Watched(open(1));
    const { agent, scripted } = watched;
    const runs = [watched.query('first', 's'), watched.query('other')];
    const calls = await Promise.all(['first', 'other'].map((text) => scripted.callFor(text)));
    const [kept, other] = runs.map(({ runId }) => runId!) as [string, string];
    const partsOf = (text: string) => [{ type: 'text', text }];
    expect(await agent.parts('anonymous', kept)).toEqual(partsOf('first'));
    expect(await agent.parts('anonymous', other)).toEqual(partsOf('other'));
    expect(await agent.turn('anonymous', 's', kept)).toBeUndefined();
    for (const call of calls) call.finish();
    await until(() => runs.every(({ outcome }) => outcome));
    expect(await agent.parts('anonymous', kept)).toEqual(partsOf('first'));
    expect(await agent.parts('anonymous', other)).toBeUndefined();
    const turn = { runId: kept, parts: partsOf('first') };
    expect(await agent.turn('anonymous', 's', kept)).toMatchObject({ number: 1, turn });
    expect(await agent.turn('anonymous', 's', other)).toBeUndefined();
    await expect(agent.turn('anonymous', 'unknown', kept)).rejects.toMatchObject({ code: 'not_found' });
    await expect(agent.parts('bob', kept)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('AgentService with a store that fails', () => {
  class FailingRunStore extends MemoryRunStore {
    failing: 'append' | 'end' | 'admit' | 'take' | undefined;
    ready: () => void = () => undefined;
    readonly #fail = (name: string) => {
      if (this.failing === name) throw new Error('secret');
    };
    override admit(...args: Parameters<MemoryRunStore['admit']>) {
      this.#fail('admit');
      return super.admit(...args);
    }
    override open(events: StoreHost) {
      this.ready = () => events.ready();
    }
    override take(...args: Parameters<MemoryRunStore['take']>) {
      this.#fail('take');
      return super.take(...args);
    }
    override append(...args: Parameters<RunStore['append']>): void {
      // A promise is what the port allows, and what this store's type does not say.
      if (this.failing === 'append') return Promise.reject(new Error('secret')) as never;
      super.append(...args);
    }
    override end(...args: Parameters<MemoryRunStore['end']>) {
      this.#fail('end');
      return super.end(...args);
    }
  }
  const watchedOf = (options: Partial<RunOptions> = {}) => {
    const store = new FailingRunStore();
    return { store, watched: new Watched(store, options) };
  };

  it('ends a run whose envelopes cannot be kept, and stops its handler', async () => {
    const { store, watched } = watchedOf();
    const run = watched.query('first');
    const call = await watched.scripted.callFor('first');
    store.failing = 'append';
    call.emit(message('lost'));
    await call.stopped;
    await until(() => run.outcome);
    expect(run.done).toEqual([
      {
        status: 'failed',
        error: {
          code: 'internal',
          message: 'The service could not store the answer, and has logged the cause. Send the query again.',
        },
      },
    ]);
    expect(watched.agent.load()).toEqual(IDLE);
    expect(run.releases).toBe(1);
  });

  it('cuts the followers of a run whose end cannot be recorded', async () => {
    const { store, watched } = watchedOf();
    const run = watched.query('first');
    const call = await watched.scripted.callFor('first');
    call.emit(message('a'));
    await until(() => run.received.length === 1);
    store.failing = 'end';
    call.finish();
    await until(() => run.outcome);
    expect([run.outcome, run.done]).toEqual(['complete', []]);
    const cancelling = watched.agent.cancel('anonymous', run.runId!);
    await pass(STOP_MS + 3_000);
    const { run: view, stopped } = await cancelling;
    expect([view.status, stopped]).toEqual(['running', false]);
    // For the store, the run still executes. One who follows it now is told what there is, and is let go with the service.
    const late: Envelope[] = [];
    let isLate = true;
    watched.agent
      .follow('anonymous', run.runId!)
      .subscribe({ next: (it) => late.push(it), complete: () => (isLate = false) });
    await until(() => late.length > 0);
    await watched.agent.onModuleDestroy();
    expect([late, isLate]).toEqual([[message('a')], false]);
    expect(watched.agent.load()).toEqual(IDLE);
    expect(run.releases).toBe(1);
  });

  it('admits nothing, and keeps nothing of it', async () => {
    const { store, watched } = watchedOf();
    store.failing = 'admit';
    const run = watched.query('first');
    await until(() => run.outcome);
    expect(run.outcome).toMatchObject({ message: 'secret' });
    expect(watched.agent.load()).toEqual(IDLE);
    expect(run.releases).toBe(1);
  });

  it('lets runs wait that cannot be taken, until the store says that it can be used again', async () => {
    const { store, watched } = watchedOf({ maxRunning: 1 });
    await watched.agent.onApplicationBootstrap();
    const runs = ['first', 'second', 'third'].map((text) => watched.query(text));
    store.failing = 'take';
    (await watched.scripted.callFor('first')).finish();
    await until(() => runs[0]!.outcome);
    await ticks(5);
    expect(watched.agent.load()).toMatchObject({ running: 0, waiting: 2 });
    store.failing = undefined;
    store.ready();
    (await watched.scripted.callFor('second')).finish();
    (await watched.scripted.callFor('third')).finish();
    await until(() => runs.every(({ outcome }) => outcome));
    expect(runs.map(({ done }) => done)).toEqual(Array(3).fill([{ status: 'completed' }]));
    expect(JSON.stringify(runs.map(({ received }) => received))).not.toContain('secret');
    expect(watched.agent.load()).toEqual(IDLE);
  });
});

describe('A handler that stops badly', () => {
  const step = { done: false, value: message('a') } as const;
  const waiting = () => new Promise<never>(() => undefined);
  const ANSWERS: [string, () => unknown][] = [
    ['throws from return', () => iteratorOf({ next: waiting, return: () => fail() })],
    [
      'rejects from return',
      () => iteratorOf({ next: waiting, return: () => Promise.reject(new Error('secret')) }),
    ],
    ['returns no promise from return', () => iteratorOf({ next: waiting, return: () => step })],
    ['throws from its teardown', () => new Observable<Envelope>(() => () => fail())],
  ];
  const fail = () => {
    throw new Error('secret');
  };
  const iteratorOf = (iterator: object) => ({ [Symbol.asyncIterator]: () => iterator });

  it.each(ANSWERS)('because it %s is cancelled all the same', async (_, answer) => {
    const handle = answer as unknown as HandlerFunction;
    const agent = new AgentService(new MemoryRunStore(), { handle }, new Settings({}), spool, clock);
    const stream = agent.query({ parts: [], kwargs: {} });
    const { run } = await stream.admitted;
    await ticks(2);
    expect(agent.load().running).toBe(1);
    const cancelled = await agent.cancel('anonymous', run!.id);
    expect(cancelled).toMatchObject({ stopped: true, run: { status: 'cancelled', events: 1 } });
    expect(agent.load()).toEqual(IDLE);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('because it emits what is no envelope and never returns is given up at the deadline', async () => {
    const handle = (() =>
      iteratorOf({ next: () => ({ value: 1 }), return: waiting })) as unknown as HandlerFunction;
    const agent = new AgentService(new MemoryRunStore(), { handle }, new Settings({}), spool, clock);
    const { run } = await agent.query({ parts: [], kwargs: {} }).admitted;
    await ticks(5);
    jest.advanceTimersByTime(5_000);
    await until(() => agent.load().running === 0);
    expect(await agent.find('anonymous', run!.id)).toMatchObject({ error: { code: 'invalid_envelope' } });
    expect(agent.load()).toEqual({ ...IDLE, overdue: 1 });
    // The timer that frees the slot.
    expect(jest.getTimerCount()).toBe(1);
  });
});
