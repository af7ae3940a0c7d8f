import { AsyncResource } from 'node:async_hooks';
import { log } from '../contract/envelopes.js';
import { QueryError, refusalOf } from '../contract/errors.js';
import type { Query } from '../ports/agent-handler.js';
import { type Awaitable, isThenable } from '../ports/file-store.js';
import type { Admission, Admitted, RunRecord } from '../ports/run-store.js';
import type { RunTrace } from '../ports/run-tracer.js';
import { storedOwner } from '../sharing/owners.js';
import type { Processes } from './processes.js';
import type { Runner } from './one/runner.js';
import type { NewRun, RunnerServices } from './runner-services.js';
import type { Scheduler } from './scheduler.js';
import type { Slot } from './slots.js';
import {
  ANONYMOUS,
  checkOptions,
  metadataOf,
  mismatchesOf,
  newRunId,
  queryDigest,
  type QueryOptions,
  sessionIdOf,
  storedParts,
} from './submitted-query.js';
import { traceOfRequest } from './traces.js';
import { textForLog } from '../platform/text-for-log.js';

/** A path that is kept with a run: printable ASCII characters without a space. */
const PATH = /^\/[\x21-\x7e]{0,1023}$/;

/** The query is not admitted because the service shuts down. */
export function draining(): QueryError {
  const detail = 'The service is shutting down and takes no new queries. Try again in a moment.';
  return new QueryError('draining', detail, { retryAfter: 1 });
}

/** Turns queries into runs. */
export class Admissions {
  constructor(
    private readonly services: RunnerServices,
    private readonly scheduler: Scheduler,
    private readonly processes: Processes,
    /** Whether the service shuts down, and refuses this request. Asked before and after what an admission waits for. */
    private readonly isDraining: (request: QueryOptions['request']) => boolean,
  ) {}

  /**
   * Admits a query as a run, and starts it if there is a free slot; or finds the run that the same idempotency key started.
   *
   * @throws {QueryError} see `AgentService.query`
   */
  admit(query: Query, options: QueryOptions): Promise<Admitted> {
    const { owner = ANONYMOUS, detached = false } = options;
    const asked: NewRun = {
      id: newRunId(),
      owner: storedOwner(this.services.settings.name, owner),
      sessionId: sessionIdOf(query),
      detached,
      trace: traceOfRequest(options.request),
    };
    const trace = this.services.traces.submitted(asked);
    if (!trace) return this.#admit(asked, query, options, undefined);
    return traced(trace, () => this.#admit({ ...asked, trace: trace.trace }, query, options, trace));
  }

  async #admit(
    asked: NewRun,
    query: Query,
    options: QueryOptions,
    trace: RunTrace | undefined,
  ): Promise<Admitted> {
    const { owner = ANONYMOUS, idempotencyKey: key, afterTurn, earlier, replaces } = options;
    const { release = () => undefined } = options;
    const { store, files, settings, budgets } = this.services;
    let runner: Runner | undefined;
    let keepsFiles = false;
    let slot: Slot | undefined;
    let admitted: Admitted | undefined;
    try {
      checkOptions(asked.sessionId, store, options);
      const typed = settings.kwargs ? ((await settings.kwargs.typed(query)) as Query) : query;
      const idempotency =
        key === undefined ? undefined : { key, digest: await queryDigest(query, afterTurn, earlier) };
      const refused = this.#refusal(typed, options);
      const refusedByHost = isThenable(refused) ? await refused : refused;
      const overBudget = refusedByHost || !settings.budgets ? undefined : await budgets.reached(asked.owner);
      const refusal = refusedByHost ?? overBudget;
      const reserved = refusal ? undefined : this.scheduler.slots.reserve();
      slot = isThenable(reserved) ? await reserved : reserved;
      const admission = this.#admission(asked, query, options, {
        idempotency,
        refusal: this.isDraining(options.request) ? draining() : refusal,
        mayStart: slot !== undefined,
      });
      const bringsFiles = query.parts.some(({ type }) => type === 'file');
      const isForRunOnly = this.#needsFilesAlone(admission);
      const releaseFiles = bringsFiles ? () => void files.settled(asked.id).then(release) : release;
      // `AsyncLocalStorage.snapshot` does the same, and takes a tenth of a small query on Node 20.
      const asyncContext = new AsyncResource('Run');
      // Created before the store has the run, so that every event of the run finds its runner.
      runner = this.scheduler.add(asked, { query, earlier, asyncContext, releaseFiles, trace });
      if (bringsFiles && !isForRunOnly && !refusal) keepsFiles = await files.keep(runner.id, query);
      const answer = store.admit(admission);
      admitted = isThenable(answer) ? await answer : answer;
      if (admitted.created) {
        // Of the turns that are gone, the handler may remember something. Of a run that is still there, its end tells.
        const isStopping = admitted.ahead.some(({ id }) => id === replaces);
        if (afterTurn !== undefined || (replaces !== undefined && !isStopping))
          await this.services.tellErased({ owner, id: asked.sessionId!, goesOn: true });
        if (admitted.superseded) this.processes.resolved({ ...admitted.superseded, isReady: true });
        runner.observation.admitted(admitted.run, query);
        if (bringsFiles && isForRunOnly) files.keepBeside(runner.id, query);
        this.#dispatch(runner, admitted, slot, isStopping);
        if (admitted.stored) await this.#stored(asked.id, admitted.stored);
      } else if (asked.detached) await this.#detach(admitted.run);
      return admitted;
    } finally {
      if (!admitted?.created) {
        if (keepsFiles) void files.release(asked.id);
        if (runner) this.scheduler.drop(runner);
        else release();
        slot?.release();
      }
    }
  }

  /** The handler of a run that cannot be kept must stop. */
  async #stored(runId: string, stored: Promise<void>): Promise<void> {
    try {
      await stored;
    } catch (error) {
      this.scheduler.lose(runId);
      throw error;
    }
  }

  /** From now on the run continues when nobody follows it, wherever it executes. */
  async #detach(run: RunRecord): Promise<void> {
    const { store } = this.services;
    const isChanged = await store.wish(run, 'detach');
    this.scheduler.get(run.id)?.disconnects.ignore();
    if (isChanged) store.signals.send({ type: 'detach', runId: run.id });
  }

  /** Each member is named: to spread an object takes a tenth of a small query. */
  #admission(
    { id: runId, owner, sessionId, detached, trace }: NewRun,
    query: Query,
    { afterTurn, afterRun, replaces, fork, earlier, path, notices = [] }: QueryOptions,
    { idempotency, refusal, mayStart }: Pick<Admission, 'idempotency' | 'refusal' | 'mayStart'>,
  ): Admission {
    const { settings, options } = this.services;
    const { sessionPolicy: policy, onAsking, maxWaitingPerSession, maxWaiting, maxWaitingPerOwner } = options;
    return {
      runId,
      owner,
      detached,
      trace,
      idempotency,
      refusal,
      path: this.#pathOf(path),
      module: settings.name,
      parts: storedParts(query, earlier),
      kwargs: query.kwargs,
      metadata: metadataOf(query),
      session:
        sessionId === undefined
          ? undefined
          : {
              id: sessionId,
              policy,
              maxWaiting: maxWaitingPerSession,
              onAsking,
              afterTurn,
              afterRun,
              replaces,
              fork: fork && { sessionId: fork.session, afterTurn: fork.afterTurn },
            },
      mayStart,
      mayStartEarly: true,
      maxWaiting,
      maxWaitingPerOwner,
      notices: (ahead, isDeferred) => {
        const waiting = ahead === undefined ? [] : [this.#waitingNotice(ahead, isDeferred)];
        return [...notices, ...mismatchesOf(query), ...waiting].map((notice) => JSON.stringify(log(notice)));
      },
    };
  }

  #waitingNotice(ahead: number, isDeferred = false): string {
    const { maxRunningPerOwner } = this.services.options;
    const executing = this.scheduler.takenSlots;
    if (ahead > 0) return `Waiting in the queue of the session: ${ahead} ahead.`;
    if (isDeferred)
      return `Waiting: ${maxRunningPerOwner} of your queries are executing, which is the limit.`;
    if (executing === 0) return 'Waiting for a slot.';
    return `Waiting for a slot: ${executing} handlers are executing, which is the limit.`;
  }

  /** Why no new run is admitted. Only a promise of the host is waited for. */
  #refusal(query: Query, options: QueryOptions): Awaitable<QueryError | undefined> {
    if (this.isDraining(options.request)) return draining();
    const { owner = ANONYMOUS, request, idempotencyKey, detached = false } = options;
    try {
      const decision = this.services.settings.admit(query, { owner, request, idempotencyKey, detached });
      if (!isThenable(decision)) return undefined;
      return Promise.resolve(decision).then(() => undefined, thrownRefusal);
    } catch (error) {
      return thrownRefusal(error);
    }
  }

  #pathOf(path: string | undefined): string | undefined {
    const isKept = path !== undefined && path !== this.services.settings.path && PATH.test(path);
    return isKept ? path : undefined;
  }

  /** Whether only the handler of this run in this process needs the files, besides callers who download them. */
  #needsFilesAlone({ session, mayStart }: Admission): boolean {
    const { store, handler } = this.services;
    return session === undefined && (!store.durable || (mayStart && (handler.restarts ?? 0) === 0));
  }

  #dispatch(runner: Runner, { run, ahead }: Admitted, slot: Slot | undefined, isReplacing: boolean): void {
    if (run.status === 'running') return this.scheduler.start(runner, run, slot!);
    runner.admit(run);
    slot?.release();
    const { options, logger } = this.services;
    if (ahead.length === 0) return this.scheduler.enqueued();
    if (options.sessionPolicy !== 'interrupt' && !isReplacing) return;
    // Whether a run that asks is superseded, `onAsking` and `hold` have decided.
    this.processes
      .cancelAll(ahead.filter(({ status }) => status !== 'input_required'))
      .catch((error: Error) => {
        logger.warn(`Run ${ahead[0]!.id} could not be cancelled: ${textForLog(error.message)}`);
      });
  }
}

async function traced(trace: RunTrace, admit: () => Promise<Admitted>): Promise<Admitted> {
  try {
    const admitted = await trace.within(admit);
    if (!admitted.created) trace.repeated(admitted.run);
    return admitted;
  } catch (error) {
    trace.refused(refusalOf(error).code);
    throw error;
  }
}

/** The refusal that the option `admit` has thrown. Any other error is thrown on. */
function thrownRefusal(error: unknown): QueryError {
  if (error instanceof QueryError) return error;
  throw error;
}
