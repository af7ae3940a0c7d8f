import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { QueryError } from '../contract/errors.js';
import { OpenedFiles } from '../files/files.js';
import type { Query } from '../ports/agent-handler.js';
import type { Admission, RunRecord, StoredRun } from '../ports/run-store.js';
import { queryDigest, storedParts } from './digest.js';
import { Runner, type RunnerServices } from './runner.js';
import type { Scheduler } from './scheduler.js';

/** The owner of everything if the host has no authentication. */
export const ANONYMOUS = 'anonymous';

/** How a query is admitted. */
export interface QueryOptions {
  /** The owner of the run. Default `anonymous`. */
  owner?: string;
  /** A repeated query with the same key finds the run that the first query started. Default: none. */
  idempotencyKey?: string | undefined;
  /** The run continues when nobody follows it, whatever the disconnect policy is. Default false. */
  detached?: boolean;
  /** Called once, when the run no longer needs the files of the query, or is not admitted. */
  release?: () => void;
}

/** The query is not admitted because the service shuts down. */
export function draining(): QueryError {
  const detail = 'The service is shutting down and takes no new queries. Try again in a moment.';
  return new QueryError('draining', detail, { retryAfter: 1 });
}

/** Turns queries into runs: new queries, and those that a process which is gone has admitted. */
export class Admissions {
  /** Orphaned runs whose files are being fetched. */
  readonly #adopting = new Map<string, { isFirst: boolean }>();

  constructor(
    private readonly services: RunnerServices,
    private readonly scheduler: Scheduler,
  ) {}

  /**
   * Admits a query as a run, and dispatches it; or finds the run that the same idempotency key started.
   *
   * @param isDraining whether the service shuts down
   * @throws {QueryError} see `AgentService.query`
   */
  async admit(
    query: Query,
    options: QueryOptions,
    isDraining: boolean,
  ): Promise<{ run: RunRecord; created: boolean }> {
    const { owner = ANONYMOUS, detached, release = () => undefined } = options;
    const { store, files, kwargs } = this.services;
    let runner: Runner | undefined;
    let keepsFiles = false;
    try {
      if (kwargs) await kwargs.typed(query);
      const key = options.idempotencyKey;
      const idempotency = key === undefined ? undefined : { key, digest: await queryDigest(query) };
      const admission = this.#admission(query, owner, idempotency, isDraining);
      const named = { id: admission.runId, owner, sessionId: admission.session?.id };
      const disconnect = detached ? 'continue' : this.services.options.disconnect;
      // Created before the store has the run, so that every event of the run finds its runner.
      runner = new Runner(this.services, this.scheduler, named, query, disconnect, release);
      this.scheduler.add(runner);
      keepsFiles = this.#needsFiles(admission) && (await files.keep(runner.id, query));
      const admitted = store.admit(admission);
      const { run, created, ahead } = admitted instanceof Promise ? await admitted : admitted;
      if (created) {
        this.#enqueue(runner, run, ahead);
      } else {
        if (keepsFiles) void files.release(runner.id);
        this.scheduler.drop(runner);
        if (detached) this.scheduler.get(run.id)?.ignoreDisconnects();
      }
      return { run, created };
    } catch (error) {
      if (keepsFiles) void files.release(runner!.id);
      if (runner) this.scheduler.drop(runner);
      else release();
      throw error;
    }
  }

  /** Executes a run that the store has recovered, or whose turn came when another process ended the one before it. */
  async adopt({ run, parts, kwargs, isFirst }: StoredRun): Promise<void> {
    const known = this.scheduler.get(run.id);
    if (known) return this.scheduler.dispatch(known);
    const adopting = { isFirst };
    this.#adopting.set(run.id, adopting);
    const opened = new OpenedFiles();
    const query: Query = { parts: [], kwargs };
    let failure: unknown;
    try {
      query.parts = await this.services.files.restore(run.id, parts, opened);
    } catch (error) {
      failure = error;
    }
    this.#adopting.delete(run.id);
    if (this.scheduler.isClosed) return opened.close();
    const runner = new Runner(this.services, this.scheduler, run, query, 'continue', () => opened.close());
    this.scheduler.add(runner);
    runner.admit(run);
    if (failure !== undefined) runner.stopFailed(failure);
    else if (adopting.isFirst) this.scheduler.dispatch(runner);
  }

  /** A run was promoted while its files are being fetched. */
  promoted(runId: string): void {
    const adopting = this.#adopting.get(runId);
    if (adopting) adopting.isFirst = true;
  }

  #admission(
    query: Query,
    owner: string,
    idempotency: Admission['idempotency'],
    isDraining: boolean,
  ): Admission {
    const { sessionPolicy: policy, maxWaitingPerSession: maxWaiting } = this.services.options;
    const sessionId = query.kwargs['session_id'];
    return {
      runId: newRunId(),
      owner,
      parts: storedParts(query),
      kwargs: query.kwargs,
      session:
        typeof sessionId === 'string' && sessionId !== '' ? { id: sessionId, policy, maxWaiting } : undefined,
      idempotency,
      ...(isDraining ? { refusal: draining(), refusalIfQueued: undefined } : this.#capacityRefusals()),
    };
  }

  #capacityRefusals(): Pick<Admission, 'refusal' | 'refusalIfQueued'> {
    const { maxRunning, maxWaiting } = this.services.options;
    const { takenSlots, waiting } = this.scheduler;
    const isFull = takenSlots + waiting >= maxRunning + maxWaiting;
    const isQueueFull = waiting >= maxWaiting;
    if (!isFull && !isQueueFull) return { refusal: undefined, refusalIfQueued: undefined };
    const detail = `The service is at capacity: ${takenSlots} handlers are executing and ${waiting} runs are waiting. Try again later.`;
    const atCapacity = new QueryError('at_capacity', detail, { retryAfter: 5 });
    return { refusal: isFull ? atCapacity : undefined, refusalIfQueued: atCapacity };
  }

  /** Whether the files may be read by anything but the handler of this run in this process. */
  #needsFiles({ session, refusal }: Admission): boolean {
    if (refusal) return false;
    return session !== undefined || (this.services.store.durable && this.scheduler.isFull);
  }

  #enqueue(runner: Runner, run: RunRecord, ahead: RunRecord[]): void {
    // The runs ahead may have ended meanwhile, and have promoted this one.
    if (runner.isAdmitted) return;
    runner.admit(run);
    if (ahead.length === 0) return this.scheduler.dispatch(runner);
    runner.announce(`Waiting in the queue of the session: ${ahead.length} ahead.`);
    if (this.services.options.sessionPolicy !== 'interrupt') return;
    for (const { id } of ahead.reverse()) this.scheduler.get(id)?.stop({ status: 'cancelled' });
  }
}

/** Copied, because V8 would keep the result of `randomUUID` as a tree of its pieces. */
function newRunId(): string {
  return Buffer.from(randomUUID()).toString('latin1');
}
