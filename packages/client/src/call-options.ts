import type { RunStatus, Turn } from './wire/index.js';
import type { Answer } from './answer.js';
import type { FileContent, FileInput } from './file-source.js';
import type { FollowOptions } from './log-reader.js';

/** What a query may have besides its text. */
export interface AskOptions extends FollowOptions {
  /** Files after the text: contents, or contents with a name and a type. */
  files?: readonly (FileContent | FileInput)[] | undefined;
  /** Every key is passed to the agent. */
  kwargs?: Record<string, unknown> | undefined;
  /**
   * What the run, and lists of runs, say of the query: up to 16 keys of 1 to 64 characters, with values of up to 512. It is not
   * passed to the model.
   */
  metadata?: Record<string, string> | undefined;
  /** The conversation. It is sent as `kwargs.session_id`. */
  sessionId?: string | undefined;
  /**
   * The query takes the place of the turns of the session after this number; 0: of all. It is refused with `session_busy` while a
   * run of the session has not ended.
   */
  afterTurn?: number | undefined;
  /** 1 to 255 characters; a query with the same key is executed once. Default: a random one. */
  idempotencyKey?: string | undefined;
  /** Whether the run continues when nobody follows it. Default false: the service decides. */
  detached?: boolean | undefined;
  /** Is told the bytes of the body that were sent, and how many there are, if known. Only for queries with files. */
  onUpload?: ((sentBytes: number, totalBytes: number | undefined) => void) | undefined;
}

/** What every call may have. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** Which entries a list returns. */
export interface PageOptions<Cursor = string> extends CallOptions {
  /** The most entries: 1 to 500. Default 50. */
  limit?: number | undefined;
  /** `next` of the page before. Default: the first page. */
  after?: Cursor | undefined;
}

/** Which runs are listed. */
export interface RunListOptions extends PageOptions {
  /** Only the runs of this session. */
  session?: string | undefined;
  /** Only runs with this status. */
  status?: RunStatus | undefined;
  /** Only runs that have all these entries in their metadata. */
  metadata?: Record<string, string> | undefined;
}

/** A conversation, as a page shows it again. */
export interface ResumedSession {
  /** All turns that have ended, oldest first. */
  turns: Turn[];
  /** The answer of the run that has not ended, from its first envelope: it waits, executes or asks. Undefined if there is none. */
  answer: Answer | undefined;
}

/** What is added up. Days are in UTC, such as `2026-11-25`. */
export interface UsageOptions extends PageOptions {
  /** What is added up in one sum. Default `day`. */
  by?: 'session' | 'model' | 'day' | undefined;
  /** The first day. Default: the first day of the month of the last one. */
  from?: string | undefined;
  /** The last day. Default: today. */
  to?: string | undefined;
  /** Only the usage of this session. */
  session?: string | undefined;
}
