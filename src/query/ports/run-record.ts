import type {
  InputRequest,
  ResolvedInput,
  RunEnd,
  RunStatus,
  TurnAnswer,
  TurnFile,
  TurnText,
} from 'nest-agent-query-client';
import type { QueryError } from '../contract/errors.js';
import type { ListPosition } from '../contract/list-page.js';
import type { Metadata } from '../contract/metadata.js';
import type { Fork, OnAsking, SessionPolicy } from './session-record.js';

export type { ListPosition };

/** A run as the store keeps it. Times are milliseconds since the epoch. */
export interface RunRecord {
  readonly id: string;
  readonly owner: string;
  readonly sessionId: string | undefined;
  readonly status: RunStatus;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** The number of the newest envelope; 0 before the first. */
  readonly lastSeq: number;
  readonly end: RunEnd | undefined;
  /** Which execution of the handler this is, or will be if the run waits: 1, and one more after each restart. */
  readonly attempt: number;
  /** Whether the run continues when nobody follows it. */
  readonly detached: boolean;
  /** See `Admission.trace`. */
  readonly trace: string | undefined;
  /** See `Admission.path`. */
  readonly path: string | undefined;
  /** See `Admission.metadata`. */
  readonly metadata?: Metadata | undefined;
}

/** Names a run. Any record of the run does, however old it is. */
export type RunRef = Pick<RunRecord, 'id' | 'owner'>;

/** Names one attempt of a run: a process that has lost the run does not change what the next attempt does. */
export type AttemptRef = Pick<RunRecord, 'id' | 'owner' | 'attempt'>;

/** A query that is to become a run. */
export interface Admission {
  runId: string;
  /** The name of the module that executes the run. Default: the module without a name. */
  module?: string | undefined;
  owner: string;
  /** The parts of the query; files as name, type, size and digest. */
  parts: (TurnText | TurnFile)[];
  kwargs: Record<string, unknown>;
  /** The session, its policy, and how many of its runs may wait; undefined if the query names no session. */
  session:
    | {
        id: string;
        policy: SessionPolicy;
        maxWaiting: number;
        /** What becomes of a run of the session that asks; see `supersedes`. Default `supersede`. */
        onAsking?: OnAsking;
        /** The run takes the place of the turns after this number, which are removed with the admission. Default: it follows them. */
        afterTurn?: number | undefined;
        /** The run is admitted only if the newest turn is of this run, and the session has no unfinished run. Default: always. */
        afterRun?: string | undefined;
        /**
         * The run takes the place of this run of the session: of its turn and those after it, which are removed with the admission. A
         * run that has not ended gets no turn when it ends, and the caller cancels it; one that asks is ended with the admission.
         * Default: it takes the place of none.
         */
        replaces?: string | undefined;
        /** If the owner has no such session yet, it begins with these turns of another one. Default: it begins without turns. */
        fork?: Pick<Fork, 'sessionId' | 'afterTurn'> | undefined;
      }
    | undefined;
  /** The caller's idempotency key, with the digest of the query. */
  idempotency: { key: string; digest: string } | undefined;
  /** Whether the run continues when nobody follows it. */
  detached: boolean;
  /** The trace of the run; undefined if there is none. The store keeps the text as it is: up to 568 printable ASCII characters. */
  trace: string | undefined;
  /**
   * The path that the caller used, such as `/api/query`; undefined if it is the one of the module, or not known. The store
   * keeps the text as it is: up to 1,024 printable ASCII characters.
   */
  path?: string | undefined;
  /** What the caller says about the query: see `Query.metadata`. Never empty. Default: none. */
  metadata?: Metadata | undefined;
  /** Whether this process has a free slot. If so, and if no runs are ahead, the run starts in the same step. */
  mayStart: boolean;
  /** Whether the run may start before it is kept: the caller looks at `Admitted.stored`. Default false. */
  mayStartEarly?: boolean;
  /** How many runs of the module may wait, in all processes together. */
  maxWaiting: number;
  /** How many runs of the owner may wait in the module, in all processes together. Default: no limit. */
  maxWaitingPerOwner?: number;
  /** Why no new run can be admitted at present. A repeated query still finds the run that it started. */
  refusal: QueryError | undefined;
  /**
   * Returns the envelopes with which the log begins, as JSON texts.
   *
   * @param ahead how many runs of the session are ahead; undefined if the run starts at once
   * @param isDeferred whether it waits because its owner has reached the limit of runs that execute. Default false
   */
  notices(ahead: number | undefined, isDeferred?: boolean): string[];
}

/** The result of an admission. */
export interface Admitted {
  /** Its status is `running` if it was started in the same step: then this process executes it. */
  run: RunRecord;
  /** False if the idempotency key belongs to a run that existed before. */
  created: boolean;
  /** The runs ahead of this one in the queue of its session, oldest first. */
  ahead: RunRecord[];
  /** The run that asked, and that the query has ended. */
  superseded?: Superseded | undefined;
  /**
   * Settles when the run is kept, and nobody may be told of it before. Its handler need not wait: what it emits in this tick is
   * kept in the same step. Rejects like `RunStore.admit`: then nothing of the run is kept. Default: the run is kept already.
   */
  stored?: Promise<void> | undefined;
}

/** A request as the store keeps it. */
export interface StoredInput {
  runId: string;
  sessionId: string | undefined;
  request: InputRequest;
  /** Milliseconds since the epoch. */
  askedAt: number;
  /** How it was resolved, with the value also of a private one; undefined while it is open. */
  resolved: ResolvedInput | undefined;
  /** The number of the envelope that says how it was resolved. */
  seq: number | undefined;
}

/** The end of a run, and a run that became ready by it. */
export interface Ended {
  run: RunRecord;
  /** The next run of the session, or one that waited because of its owner's limit; undefined if there is none. */
  next: RunRecord | undefined;
  /** The requests of the run that were open, and are closed now. Default: none were. */
  inputs?: StoredInput[];
  /** The run has no turn: see `Admission.session.replaces`. Default false. */
  isReplaced?: boolean;
}

/** A run that was ended by a newer query while it asked. */
export type Superseded = Required<Pick<Ended, 'run' | 'inputs'>>;

/** Consecutive envelopes of a log. */
export interface LogSlice {
  /** The number of the first envelope. */
  first: number;
  /** How many envelopes there are; 0 if there is nothing after the cursor yet. */
  count: number;
  /** Their JSON texts, one per line, without a line end after the last. A JSON text of ours contains no line end. */
  lines: string;
  /** Where the slice ends, in characters of JSON since the beginning of the log. */
  endOffset: number;
  /** Whether the slice ends with `done`, or the cursor was at `done`: nothing will follow. */
  ended: boolean;
  /** Whether nothing was behind the slice when it was read: who follows the log need not read again before there is news. Default false. */
  newest?: boolean;
  /** Whether the run asks, and the slice ends where it does: nothing follows before the answer. Default false. */
  asks?: boolean;
}

/** What an attempt of a run needs besides its record. */
export interface StoredQuery extends Pick<Admission, 'parts' | 'kwargs'> {
  /** What a turn keeps of the answer so far, without what earlier attempts made void. */
  answer: TurnAnswer;
  /** The state of the last checkpoint, as JSON; undefined if there is none. */
  checkpoint: string | undefined;
}

/** A page of a list. */
export interface ListPage {
  /** Where the page before ends; undefined for the first page. */
  after: ListPosition | undefined;
  /** The most entries to return. */
  limit: number;
  /** The most characters of JSON that they have together, about; at least one entry is returned. Default: no limit. */
  maxLength?: number;
}

/** A page of an owner's runs. */
export interface RunsPage extends ListPage {
  /** Only runs of this session. Default: all. */
  sessionId?: string | undefined;
  /** Only runs with this status. Default: all. */
  status?: RunStatus | undefined;
  /** Only runs that have all these entries in their metadata. Default: all. */
  metadata?: Metadata | undefined;
}

/** A page of an owner's runs that have ended. */
export interface EndedRunsPage extends Pick<RunsPage, 'sessionId'> {
  /** Only runs that have ended so. Default: all. */
  status?: RunEnd['status'] | undefined;
  /** Only runs that ended then or later, in milliseconds since the epoch; -Infinity for all. */
  since: number;
  /** Where the page before ends: the time of the end of its last run, and the id of that. Undefined for the first page. */
  after: ListPosition | undefined;
  /** The most runs to return, from 1. */
  limit: number;
}

/** Runs of an owner that have ended. */
export interface EndedRuns {
  /** Those that ended last first. */
  runs: RunRecord[];
  /** Whether more follow. */
  hasMore: boolean;
  /** How many there are on all pages. */
  total: number;
}
