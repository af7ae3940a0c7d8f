import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { Puppet } from '../../test/support/puppet.js';
import { SlowRunStore, turns } from '../../test/support/slow-run-store.js';
import { AgentService, type QueryOptions } from './agent.service.js';
import { QueryError } from './errors.js';
import { MemoryRunStore } from './memory/memory-run-store.js';
import type { Query } from './ports/agent-handler.js';
import type { RunStore } from './ports/run-store.js';
import type { RunOptions } from './query.options.js';
import type { Envelope } from './wire.js';

const IDLE = { running: 0, waiting: 0, followers: 0, overdue: 0 };
const DRAIN_MS = 1_000;
const TIMEOUT_MS = 5_000;
const STOP_MS = 500;

/** A service whose runs a test watches from their admission to their end. */
class Watched {
  readonly puppet: Puppet;
  readonly agent: AgentService;
  readonly runs: WatchedRun[] = [];

  constructor(
    readonly store: RunStore,
    options: Partial<RunOptions> = {},
    isDeaf = false,
  ) {
    this.puppet = new Puppet(isDeaf);
    const runs = { timeoutMs: TIMEOUT_MS, stopDeadlineMs: STOP_MS, drainMs: DRAIN_MS, ...options };
    this.agent = new AgentService(
      store,
      { handle: this.puppet.handler },
      { handler: this.puppet.handler, runs },
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
    const slice = await this.store.read('anonymous', runId, 0);
    return slice.envelopes.map((text) => JSON.parse(text) as Envelope);
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
  while (!condition()) await turns(1);
}

/** Lets time pass, and the store work all the while. */
async function pass(time: number): Promise<void> {
  for (let passed = 0; passed < time; passed += STOP_MS) {
    await turns(30);
    jest.advanceTimersByTime(STOP_MS);
  }
  await turns(30);
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
    finish: (watched: Watched) => void watched.puppet.callFor('first').then((call) => call.finish()),
    throw: (watched: Watched) =>
      void watched.puppet.callFor('first').then((call) => call.fail(new Error('secret'))),
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
          await turns(head);
          const events: Event[] = isSwapped ? [other, one] : [one, other];
          EVENTS[events[0]!](watched);
          await turns(gap);
          EVENTS[events[1]!](watched);

          // Until a timeout has come for what has only just begun, a drain and its deadlines are over.
          void watched.puppet.callFor('second').then((call) => call.finish());
          await pass(2 * TIMEOUT_MS);
          // A deaf handler stops at last.
          for (const call of watched.puppet.calls) call.finish();
          await turns(20);

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
          expect(watched.puppet.calls.length).toBeLessThanOrEqual(2);
          expect(await watched.store.line('anonymous', 's')).toEqual([]);
          expect(watched.agent.load()).toEqual(IDLE);
          expect([first.releases, second.releases]).toEqual([1, 1]);
          expect(jest.getTimerCount()).toBe(0);
        },
      ),
      { numRuns: 40 },
    );
  });
});
