import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { QueryError } from '../contract/errors.js';
import type { CallerRequest, Settings } from '../options/query.options.js';
import type { Query } from '../ports/agent-handler.js';
import { type Awaitable, isThenable } from '../ports/file-store.js';
import type { RunTrace } from '../ports/run-tracer.js';
import type { Admission, RunRecord } from '../ports/run-store.js';
import { queryDigest, storedParts } from './digest.js';
import { storedOwner } from '../sharing/owners.js';
import { noticesOf } from './notices.js';
import type { Processes } from './processes.js';
import { Runner } from './runner.js';
import type { RunnerServices } from './runner-services.js';
import type { Scheduler } from './scheduler.js';
import { codeOf, traceOfRequest } from './traces.js';

/** The owner of everything if the host has no authentication. */
export const ANONYMOUS = 'anonymous';

/** A path that is kept with a run: printable ASCII characters without a space. */
const PATH = /^\/[\x21-\x7e]{0,1023}$/;

/** How a query is admitted. */
export interface QueryOptions {
  /** The owner of the run. Default `anonymous`. */
  owner?: string;
  /** A repeated query with the same key finds the run that the first query started. Default: none. */
  idempotencyKey?: string | undefined;
  /** The run continues when nobody follows it, whatever the disconnect policy is. Default false. */
  detached?: boolean;
  /** The request that submits the query, for the option `admit` and the trace. Default: none, the host submits it itself. */
  request?: CallerRequest;
  /**
   * The path of the endpoint as the caller has used it, such as `/api/query`: the files of the answer are under it. Default: that
   * of the module, without a global prefix of the host.
   */
  path?: string;
  /** Called once, when the run no longer needs the files of the query, or is not admitted. */
  release?: () => void;
}

/** A query that was admitted: its run, and whether the query made it. */
interface AdmittedQuery {
  run: RunRecord;
  created: boolean;
}

/** The run that a query asks for. */
type SubmittedRun = Pick<RunRecord, 'id' | 'sessionId' | 'trace'>;

/** The query is not admitted because the service shuts down. */
export function draining(): QueryError {
  const detail = 'The service is shutting down and takes no new queries. Try again in a moment.';
  return new QueryError('draining', detail, { retryAfter: 1 });
}

/** Turns queries into runs. */
export class Admissions {
  constructor(
    private readonly services: RunnerServices,
    private readonly settings: Settings,
    private readonly scheduler: Scheduler,
    private readonly processes: Pick<Processes, 'cancelAll'>,
  ) {}

  /**
   * Admits a query as a run, and starts it if there is a free slot; or finds the run that the same idempotency key started.
   *
   * @param isDraining whether the service shuts down, asked also after what had to be waited for
   * @throws {QueryError} see `AgentService.query`
   */
  admit(query: Query, options: QueryOptions, isDraining: () => boolean): Promise<AdmittedQuery> {
    const incoming = traceOfRequest(options.request);
    const named = { id: newRunId(), sessionId: sessionIdOf(query), trace: incoming };
    const trace = this.services.traces.submitted(named);
    if (!trace) return this.#admit(named, query, options, isDraining, undefined);
    return traced(trace, () =>
      this.#admit({ ...named, trace: trace.trace }, query, options, isDraining, trace),
    );
  }

  async #admit(
    submitted: SubmittedRun,
    query: Query,
    options: QueryOptions,
    isDraining: () => boolean,
    trace: RunTrace | undefined,
  ): Promise<AdmittedQuery> {
    const { owner = ANONYMOUS, detached = false, release = () => undefined } = options;
    const { store, files, kwargs } = this.services;
    let runner: Runner | undefined;
    let keepsFiles = false;
    let hasSlot = false;
    try {
      const typed = kwargs ? await kwargs.typed(query) : query;
      const key = options.idempotencyKey;
      const idempotency = key === undefined ? undefined : { key, digest: await queryDigest(query) };
      const refused = isDraining()
        ? draining()
        : this.#refusal(typed as Query, { owner, detached, ...options });
      const refusal = isThenable(refused) ? await refused : refused;
      const reserved = !refusal && this.scheduler.reserve();
      hasSlot = isThenable(reserved) ? await reserved : reserved;
      const path = this.#pathOf(options.path);
      const stored = storedOwner(this.settings.name, owner);
      const asked = { owner: stored, module: this.settings.name, idempotency, detached, path };
      const admission = this.#admission(submitted, query, asked, hasSlot, refusal);
      if (isDraining()) admission.refusal = draining();
      const named = { id: submitted.id, owner: stored, sessionId: submitted.sessionId };
      const disconnect = detached ? 'continue' : this.services.options.disconnect;
      // Created before the store has the run, so that every event of the run finds its runner.
      const uses = hasFiles(query) ? new Uses(release) : undefined;
      runner = new Runner(
        this.services,
        this.scheduler,
        named,
        query,
        disconnect,
        uses?.begin() ?? release,
        trace,
      );
      this.scheduler.add(runner);
      const isForRunOnly = this.#needsFilesAlone(admission);
      keepsFiles = !refusal && !isForRunOnly && (await files.keep(runner.id, query));
      const admitted = store.admit(admission);
      const { run, created, ahead } = isThenable(admitted) ? await admitted : admitted;
      if (created) {
        runner.observation.admitted(run, query);
        trace?.admitted(run.status === 'waiting');
        if (isForRunOnly && uses) files.keepBeside(runner.id, query, uses.begin());
        this.#dispatch(runner, run, ahead, hasSlot);
        return { run, created };
      }
      if (keepsFiles) void files.release(runner.id);
      this.scheduler.drop(runner);
      if (detached) await this.#detach(run);
      if (hasSlot) this.scheduler.release();
      return { run, created };
    } catch (error) {
      if (keepsFiles) void files.release(runner!.id);
      if (runner) this.scheduler.drop(runner);
      else release();
      if (hasSlot) this.scheduler.release();
      throw error;
    }
  }

  /** From now on the run continues when nobody follows it, wherever it executes. */
  async #detach(run: RunRecord): Promise<void> {
    const { store } = this.services;
    const isChanged = await store.request(run, 'detach');
    this.scheduler.get(run.id)?.disconnects.ignore();
    if (isChanged) store.signals.send({ type: 'detach', runId: run.id });
  }

  /** Makes a runner for a run that this process has taken, and that another process has admitted. */
  runnerOf(run: RunRecord): Runner {
    const disconnect = run.detached ? 'continue' : this.services.options.disconnect;
    const trace = this.services.traces.taken(run);
    return new Runner(this.services, this.scheduler, run, undefined, disconnect, undefined, trace);
  }

  #admission(
    { id: runId, sessionId, trace }: SubmittedRun,
    query: Query,
    asked: Pick<Admission, 'owner' | 'module' | 'idempotency' | 'detached' | 'path'>,
    mayStart: boolean,
    refusal: QueryError | undefined,
  ): Admission {
    const {
      sessionPolicy: policy,
      maxWaitingPerSession,
      maxWaiting,
      maxWaitingPerOwner,
      maxRunningPerOwner,
    } = this.services.options;
    return {
      ...asked,
      runId,
      parts: storedParts(query),
      kwargs: query.kwargs,
      session:
        sessionId === undefined ? undefined : { id: sessionId, policy, maxWaiting: maxWaitingPerSession },
      trace,
      mayStart,
      maxWaiting,
      maxWaitingPerOwner,
      refusal,
      notices: (ahead, isDeferred = false) =>
        noticesOf(query, ahead, isDeferred, {
          executing: this.scheduler.takenSlots,
          maxRunningPerOwner,
        }),
    };
  }

  /** Why the host refuses the query. Only a promise of the host is waited for. */
  #refusal(
    query: Query,
    { owner, detached, request, idempotencyKey }: QueryOptions & { owner: string; detached: boolean },
  ): Awaitable<QueryError | undefined> {
    try {
      const decision = this.settings.admit(query, { owner, request, idempotencyKey, detached });
      return isThenable(decision)
        ? Promise.resolve(decision).then(() => undefined, thrownRefusal)
        : undefined;
    } catch (error) {
      return thrownRefusal(error);
    }
  }

  #pathOf(path: string | undefined): string | undefined {
    return path === undefined || path === this.services.path || !PATH.test(path) ? undefined : path;
  }

  /** Whether only the handler of this run in this process needs the files, besides callers who download them. */
  #needsFilesAlone({ session, mayStart }: Admission): boolean {
    const { store, handler } = this.services;
    return session === undefined && (!store.durable || (mayStart && (handler.restarts ?? 0) === 0));
  }

  #cancel(runs: RunRecord[]): void {
    this.processes.cancelAll(runs).catch((error: Error) => {
      this.services.logger.warn(`Run ${runs[0]!.id} could not be cancelled: ${error.message}`);
    });
  }

  #dispatch(runner: Runner, run: RunRecord, ahead: RunRecord[], hasSlot: boolean): void {
    if (run.status === 'running') return this.scheduler.start(runner, run);
    runner.admit(run);
    if (hasSlot) this.scheduler.release();
    if (ahead.length === 0) this.scheduler.enqueued();
    else if (this.services.options.sessionPolicy === 'interrupt') this.#cancel(ahead);
  }
}

/** Counts what uses the files of a query. They are released with the last use. */
class Uses {
  #count = 0;

  constructor(private readonly release: () => void) {}

  /** Returns a function that ends the use. It is called once. */
  begin(): () => void {
    this.#count++;
    return () => {
      if (--this.#count === 0) this.release();
    };
  }
}

function hasFiles({ parts }: Query): boolean {
  return parts.some(({ type }) => type === 'file');
}

async function traced(trace: RunTrace, admit: () => Promise<AdmittedQuery>): Promise<AdmittedQuery> {
  try {
    const admitted = await trace.within(admit);
    if (!admitted.created) trace.repeated(admitted.run);
    return admitted;
  } catch (error) {
    trace.refused(codeOf(error));
    throw error;
  }
}

/** The session of a query; undefined if it names none. */
export function sessionIdOf({ kwargs }: Query): string | undefined {
  const sessionId = kwargs['session_id'];
  return typeof sessionId === 'string' && sessionId !== '' ? sessionId : undefined;
}

/** The refusal that the option `admit` has thrown. Any other error is thrown on. */
function thrownRefusal(error: unknown): QueryError {
  if (error instanceof QueryError) return error;
  throw error;
}

/** Copied, because V8 would keep the result of `randomUUID` as a tree of its pieces. */
function newRunId(): string {
  return Buffer.from(randomUUID()).toString('latin1');
}
