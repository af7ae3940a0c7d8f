/** The largest delay of a timer of Node. A larger one would fire after 1 ms. */
const MAX_TIMER_MS = 2_147_483_647;
const MAX_COUNT = 1_000_000;
const MAX = Number.MAX_SAFE_INTEGER;
const KiB = 1024;
const MiB = 1024 * KiB;
const MINUTE = 60_000;

/** The smallest and the largest value of an option. All values are whole numbers. */
export type Range = readonly [min: number, max: number];

/** An option that is a whole number. */
export interface NumberOption<V extends string = string, D extends number | undefined = number | undefined> {
  range: Range;
  /** The default. `Infinity` stands for no limit; undefined for a default that another part of the software has. */
  value: D;
  /** What it means, as the rest of a line. */
  means: string;
  /** The variable of the standalone service that sets it; empty if none does. */
  variable: V;
}

function number<D extends number | undefined, const V extends string = ''>(
  range: Range,
  value: D,
  means: string,
  variable = '' as V,
): NumberOption<V, D> {
  return { range, value, means, variable };
}

const time: Range = [1, MAX_TIMER_MS];
const timeOrZero: Range = [0, MAX_TIMER_MS];
const size: Range = [0, MAX];

/**
 * Every option of the module that is a whole number, in its group: the one place for its range, its default, what it means, and
 * the variable of the service. Types, checks, variables, flags and the tables of docs/options.md are made of it.
 */
export const OPTIONS = {
  limits: {
    fileBytes: number(size, 256 * MiB, 'one file, decoded', 'MAX_FILE_BYTES'),
    filesBytes: number(size, 512 * MiB, 'all files of a query, decoded', 'MAX_FILES_BYTES'),
    spoolBytes: number(size, 16 * KiB * MiB, 'files on disk, of all queries', 'MAX_SPOOL_BYTES'),
    filesBytesPerOwner: number(size, Infinity, 'files of one owner in transit', 'MAX_UPLOAD_BYTES_PER_OWNER'),
    textBytes: number(size, 8 * MiB, 'one text', 'MAX_TEXT_BYTES'),
    documentBytes: number(
      [2, 256 * MiB],
      16 * MiB,
      'everything that is not file content',
      'MAX_DOCUMENT_BYTES',
    ),
    parts: number([1, MAX_COUNT], 1000, 'parts of a query', 'MAX_PARTS'),
    values: number([1, 100 * MAX_COUNT], 50_000, 'JSON values of all kinds'),
    depth: number([3, 1000], 64, 'arrays and objects inside one another', 'MAX_DEPTH'),
    idleMs: number(time, 30_000, 'how long a body may make no progress', 'BODY_IDLE_MS'),
    memoryBytes: number([0, 64 * MiB], 64 * KiB, 'a larger file goes to disk'),
  },
  runs: {
    timeoutMs: number(time, 15 * MINUTE, 'how long a handler may take', 'RUN_TIMEOUT_MS'),
    backpressureMs: number(time, 60 * MINUTE, 'how long slow followers may hold it back'),
    stopDeadlineMs: number(timeOrZero, 5_000, 'how long it may take to stop when asked', 'STOP_DEADLINE_MS'),
    envelopeLength: number([1, 256 * MiB], 4 * MiB, 'the length of one envelope'),
    maxRunning: number([1, MAX_COUNT], 10_000, 'runs that execute at the same time', 'MAX_RUNNING'),
    maxWaiting: number([0, MAX_COUNT], 10_000, 'runs that wait', 'MAX_WAITING'),
    maxRunningPerOwner: number(
      [1, MAX_COUNT],
      Infinity,
      'runs of one owner that execute at once',
      'MAX_RUNNING_PER_OWNER',
    ),
    maxWaitingPerOwner: number(
      [0, MAX_COUNT],
      Infinity,
      'runs of one owner that wait',
      'MAX_WAITING_PER_OWNER',
    ),
    maxWaitingPerSession: number(
      [0, MAX_COUNT],
      100,
      'queries of one session that wait',
      'MAX_WAITING_PER_SESSION',
    ),
    sessionTurns: number([0, 10_000], 100, 'earlier turns that a handler receives', 'SESSION_TURNS'),
    drainMs: number(timeOrZero, 10_000, 'how long runs may continue at a shutdown', 'DRAIN_MS'),
  },
  disconnect: {
    graceMs: number(timeOrZero, 30_000, 'how long `grace` waits for a follower', 'DISCONNECT_GRACE_MS'),
  },
  streams: {
    keepAliveMs: number(
      [10, MAX_TIMER_MS],
      10_000,
      'after how long a silence a stream gets a keep-alive',
      'KEEP_ALIVE_MS',
    ),
    retryMs: number(timeOrZero, 1_000, 'how long clients wait before they resume'),
  },
  connections: {
    perAddress: number(
      [1, MAX_COUNT],
      10_000,
      'open connections of one address',
      'MAX_CONNECTIONS_PER_ADDRESS',
    ),
    headMs: number(time, 10_000, 'how long the head of a request may take'),
    requestMs: number(time, 60 * MINUTE, 'how long a whole request may take to arrive', 'REQUEST_TIMEOUT_MS'),
  },
  command: {
    processes: number([1, MAX_COUNT], 16, 'with `AGENT=command`: programs at once', 'COMMAND_PROCESSES'),
  },
  model: {
    maxOutputTokens: number(
      [1, 10_000_000],
      undefined,
      'the most tokens of one step',
      'MODEL_MAX_OUTPUT_TOKENS',
    ),
    contextTokens: number(
      [256, 100_000_000],
      Infinity,
      'how many tokens the conversation may have',
      'MODEL_CONTEXT_TOKENS',
    ),
    maxSteps: number([1, 1_000], 20, 'how often it is asked for one answer', 'MODEL_MAX_STEPS'),
    retries: number([0, 10], 2, 'how often a failed request is sent again', 'MODEL_RETRIES'),
    silenceMs: number(
      [100, 3_600_000],
      5 * MINUTE,
      'how long the endpoint may be silent',
      'MODEL_SILENCE_MS',
    ),
  },
  /** Each store has defaults of its own. */
  retention: {
    runMs: number([1, MAX], undefined, 'age of an ended run, its log and key', 'RETENTION_RUN_MS'),
    logLength: number(size, undefined, 'the log of one run', 'RETENTION_LOG_LENGTH'),
    totalLength: number(size, undefined, 'the logs of all runs', 'RETENTION_TOTAL_LENGTH'),
    sessionMs: number([1, MAX], undefined, 'time since the last turn of a session', 'RETENTION_SESSION_MS'),
    sessionsLength: number(size, undefined, 'all sessions', 'RETENTION_SESSIONS_LENGTH'),
    fileMs: number([1, MAX], undefined, 'age of the content of a file', 'RETENTION_FILE_MS'),
    filesBytes: number(size, undefined, 'the content of all files', 'RETENTION_FILES_BYTES'),
  },
};

/** The defaults of a group of options. */
export function defaultsOf<G extends Record<string, NumberOption>>(group: G): { [K in keyof G]: number } {
  const entries = Object.entries(group).map(([name, { value }]) => [name, value]);
  return Object.fromEntries(entries) as { [K in keyof G]: number };
}

/**
 * The limits of one body. Every limit counts what remains after `Content-Encoding` is undone, and is enforced while the
 * body arrives: a body that exceeds a limit is refused at that byte, never read to its end first.
 */
export interface BodyLimits {
  /** Decoded bytes of one file. Default 268,435,456 (256 MiB). */
  fileBytes: number;
  /**
   * Decoded bytes of all files of a body. Includes files that a later member of the same name replaced. Default
   * 536,870,912 (512 MiB).
   */
  filesBytes: number;
  /** Bytes of UTF-8 in the `text` of one part, after its escapes are decoded. Default 8,388,608 (8 MiB). */
  textBytes: number;
  /**
   * Bytes of all files that are on disk at the same time, of all queries of the process. Above it a query is refused with
   * `storage_full` (507). Default 17,179,869,184 (16 GiB).
   */
  spoolBytes: number;
  /**
   * Bytes of the files of one owner that are in transit in all processes that share the store: from their arrival until their run
   * has ended. Above it a query is refused with `rate_limited` (429). Default Infinity: no limit.
   */
  filesBytesPerOwner: number;
  /** Bytes of the JSON itself: all but the characters inside the `base64` strings of parts. Default 16,777,216 (16 MiB). */
  documentBytes: number;
  /**
   * JSON values: strings, numbers, literals, arrays and objects. The memory of a document depends on their number more than on
   * its bytes. Default 50,000.
   */
  values: number;
  /** Elements of `parts`. Default 1,000. */
  parts: number;
  /** Levels of nested arrays and objects; the outermost is level 1. Default 64. */
  depth: number;
  /** Milliseconds that may pass without a byte from the sender. Default 30,000. */
  idleMs: number;
  /** A file up to this size in bytes is kept in memory; a larger one is written to disk. Default 65,536 (64 KiB). */
  memoryBytes: number;
}

/**
 * The defaults of `limits`.
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, limits: { fileBytes: DEFAULT_BODY_LIMITS.fileBytes / 4 } })
 */
export const DEFAULT_BODY_LIMITS: Readonly<BodyLimits> = Object.freeze(defaultsOf(OPTIONS.limits));

/** The options of the agent `model` that a caller may be allowed to override, by the names of the kwargs. */
export const MODEL_KWARGS = ['model', 'instructions', 'temperature', 'max_output_tokens'] as const;

/** A kwarg that overrides an option. */
export type ModelKwarg = (typeof MODEL_KWARGS)[number];

/** The kinds of files that the model of the agent `model` may take as they are. */
export const MODEL_INPUTS = ['image', 'pdf', 'audio'] as const;

/** One of these kinds. */
export type ModelInputKind = (typeof MODEL_INPUTS)[number];

/**
 * The numbers of the agent `model`: their ranges and defaults.
 *
 * @example
 * MODEL_NUMBERS.retries.range; // [0, 10]
 */
export const MODEL_NUMBERS = OPTIONS.model;

/**
 * What a temperature may be.
 *
 * @example
 * const [least, most] = TEMPERATURES;
 */
export const TEMPERATURES: Range = [0, 2];
