import { unknownMembers } from '../contract/unknown-members.js';

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

function int<D extends number | undefined, const V extends string = ''>(
  range: Range,
  value: D,
  means: string,
  variable = '' as V,
): NumberOption<V, D> {
  return { range, value, means, variable };
}

const time: Range = [1, MAX_TIMER_MS];
const timeOrZero: Range = [0, MAX_TIMER_MS];
const age: Range = [1, MAX];
const size: Range = [0, MAX];
const from1: Range = [1, MAX_COUNT];
const from0: Range = [0, MAX_COUNT];

/**
 * Every option of the module that is a whole number, in its group: the one place for its range, its default, what it means, and
 * the variable of the service. Types, checks, variables, flags and the tables of docs/options.md are made of it. The docstring
 * of a member is also that of the member of the type, such as `BodyLimits`.
 */
export const OPTIONS = {
  limits: {
    /** Decoded bytes of one file. Default 268,435,456 (256 MiB). */
    fileBytes: int(size, 256 * MiB, 'one file, decoded', 'MAX_FILE_BYTES'),
    /**
     * Decoded bytes of all files of a body. Includes files that a later member of the same name replaced. Default
     * 536,870,912 (512 MiB).
     */
    filesBytes: int(size, 512 * MiB, 'all files of a query, decoded', 'MAX_FILES_BYTES'),
    /**
     * Bytes of all files that are on disk at the same time, of all queries of the process. Above it a query is refused with
     * `storage_full` (507). Default 17,179,869,184 (16 GiB).
     */
    spoolBytes: int(size, 16 * KiB * MiB, 'files on disk, of all queries', 'MAX_SPOOL_BYTES'),
    /**
     * Bytes of the files of one owner that are in transit in all processes that share the store: from their arrival until their
     * run has ended. Above it a query is refused with `rate_limited` (429). Default Infinity: no limit.
     */
    filesBytesPerOwner: int(size, Infinity, 'files of one owner in transit', 'MAX_UPLOAD_BYTES_PER_OWNER'),
    /**
     * Bytes of the files that an owner has sent before a query, and that no run and no session of the owner uses. They expire
     * after an hour. Above it a file is refused with `rate_limited` (429). Default 4,294,967,296 (4 GiB).
     */
    unusedBytesPerOwner: int(
      size,
      4 * KiB * MiB,
      'files of one owner that no query uses',
      'MAX_UNUSED_BYTES_PER_OWNER',
    ),
    /** Bytes of UTF-8 in the `text` of one part, after its escapes are decoded. Default 8,388,608 (8 MiB). */
    textBytes: int(size, 8 * MiB, 'one text', 'MAX_TEXT_BYTES'),
    /** Bytes of the JSON itself: all but the characters inside the `base64` strings of parts. Default 16,777,216 (16 MiB). */
    documentBytes: int([2, 256 * MiB], 16 * MiB, 'everything that is not file content', 'MAX_DOCUMENT_BYTES'),
    /** Elements of `parts`. Default 1,000. */
    parts: int(from1, 1000, 'parts of a query', 'MAX_PARTS'),
    /**
     * JSON values: strings, numbers, literals, arrays and objects. The memory of a document depends on their number more than on
     * its bytes. Default 50,000.
     */
    values: int([1, 100 * MAX_COUNT], 50_000, 'JSON values of all kinds'),
    /** Levels of nested arrays and objects; the outermost is level 1. Default 64. */
    depth: int([3, 1000], 64, 'arrays and objects inside one another', 'MAX_DEPTH'),
    /** Milliseconds that may pass without a byte from the sender. Default 30,000. */
    idleMs: int(time, 30_000, 'how long a body may make no progress', 'BODY_IDLE_MS'),
    /** A file up to this size in bytes is kept in memory; a larger one is written to disk. Default 65,536 (64 KiB). */
    memoryBytes: int([0, 64 * MiB], 64 * KiB, 'a larger file goes to disk'),
  },
  runs: {
    /**
     * The time limit of a run, from the call of its handler, without the time in which slow followers hold it back. Default
     * 900,000 (15 min).
     */
    timeoutMs: int(time, 15 * MINUTE, 'how long a handler may take', 'RUN_TIMEOUT_MS'),
    /**
     * How long slow followers may hold a handler back at a time. This time does not count for `timeoutMs`. Default 3,600,000
     * (1 h).
     */
    backpressureMs: int(time, 60 * MINUTE, 'how long slow followers may hold it back'),
    /** How long a handler may take to stop after its signal was aborted. Then its run ends without it. Default 5,000. */
    stopDeadlineMs: int(timeOrZero, 5_000, 'how long it may take to stop when asked', 'STOP_DEADLINE_MS'),
    /** The length limit of the data of one envelope. A longer one fails the run. Default 4,194,304. */
    envelopeLength: int([1, 256 * MiB], 4 * MiB, 'the length of one envelope'),
    /** How many runs may execute at once in this process: the number of slots. Default 10,000. */
    maxRunning: int(from1, 10_000, 'runs that execute at the same time', 'MAX_RUNNING'),
    /**
     * How many runs may wait in all processes that share the store, in the queue of their session or for a slot. Default 10,000.
     */
    maxWaiting: int(from0, 10_000, 'runs that wait', 'MAX_WAITING'),
    /**
     * How many runs of one owner may execute at once, in all processes that share the store. A further query waits. Default
     * Infinity: no limit.
     */
    maxRunningPerOwner: int(from1, Infinity, 'runs of one owner that execute', 'MAX_RUNNING_PER_OWNER'),
    /**
     * How many runs of one owner may wait, in all processes that share the store. One more gets 429 `rate_limited`; with 0, every
     * query that cannot start at once. Default Infinity: no limit.
     */
    maxWaitingPerOwner: int(from0, Infinity, 'runs of one owner that wait', 'MAX_WAITING_PER_OWNER'),
    /** How many queries of one session may wait. One more gets 429. Default 100. */
    maxWaitingPerSession: int(from0, 100, 'queries of one session that wait', 'MAX_WAITING_PER_SESSION'),
    /** How many runs of one owner may ask at the same time. One more cannot ask, and fails. Default 1,000. */
    maxAskingPerOwner: int(from1, 1_000, 'runs of one owner that ask', 'MAX_ASKING_PER_OWNER'),
    /**
     * How long a handler may wait for an answer that cannot be called again: without `restarts`, and without a checkpoint of the
     * question. Default 300,000 (5 min).
     */
    askInMemoryMs: int(time, 5 * MINUTE, 'how long a question waits in memory', 'ASK_IN_MEMORY_MS'),
    /** How many earlier turns a handler is given at most: the newest ones. Default 100. */
    sessionTurns: int([0, 10_000], 100, 'earlier turns that a handler receives', 'SESSION_TURNS'),
    /** When the service shuts down: how long runs may continue. Default 10,000. */
    drainMs: int(timeOrZero, 10_000, 'how long runs may continue at a shutdown', 'DRAIN_MS'),
  },
  disconnect: {
    graceMs: int(timeOrZero, 30_000, 'how long `grace` waits for a follower', 'DISCONNECT_GRACE_MS'),
  },
  streams: {
    /** An idle stream sends a keep-alive this often. Default 4,000: less than the 5 s for which many clients wait for a byte. */
    keepAliveMs: int([10, MAX_TIMER_MS], 4_000, 'the time between keep-alives', 'KEEP_ALIVE_MS'),
    /** How long a stream stays open while its run asks. Default 30,000. */
    holdMs: int(timeOrZero, 30_000, 'how long a stream waits for an answer'),
    /** The value of `retry:` in the full profile: how long a client waits before it connects again. Default 1,000. */
    retryMs: int(timeOrZero, 1_000, 'how long clients wait before they resume'),
  },
  connections: {
    perAddress: int(from1, 10_000, 'open connections of one address', 'MAX_CONNECTIONS_PER_ADDRESS'),
    headMs: int(time, 10_000, 'how long the head of a request may take'),
    requestMs: int(time, 60 * MINUTE, 'how long a whole request may take to arrive', 'REQUEST_TIMEOUT_MS'),
  },
  command: {
    processes: int(from1, 16, 'with `AGENT=command`: programs at once', 'COMMAND_PROCESSES'),
  },
  acp: {
    processes: int(from1, 4, 'with `AGENT=acp`: processes at once', 'ACP_PROCESSES'),
    keepMs: int(timeOrZero, 0, 'how long one stays for the next turn', 'ACP_KEEP_MS'),
  },
  model: {
    maxOutputTokens: int([1, 1e7], undefined, 'the most tokens of one step', 'MODEL_MAX_OUTPUT_TOKENS'),
    contextTokens: int([256, 1e8], Infinity, 'tokens of the conversation', 'MODEL_CONTEXT_TOKENS'),
    maxSteps: int([1, 1_000], 20, 'how often it is asked for one answer', 'MODEL_MAX_STEPS'),
    retries: int([0, 10], 2, 'how often a failed request is sent again', 'MODEL_RETRIES'),
    silenceMs: int([100, 3_600_000], 5 * MINUTE, 'how long the endpoint may be silent', 'MODEL_SILENCE_MS'),
  },
  /** Each store has defaults of its own. */
  retention: {
    runMs: int(age, undefined, 'age of an ended run, its log and key', 'RETENTION_RUN_MS'),
    logLength: int(size, undefined, 'the log of one run', 'RETENTION_LOG_LENGTH'),
    totalLength: int(size, undefined, 'the logs of all runs', 'RETENTION_TOTAL_LENGTH'),
    sessionMs: int(age, undefined, 'time since the last turn of a session', 'RETENTION_SESSION_MS'),
    sessionsLength: int(size, undefined, 'all sessions', 'RETENTION_SESSIONS_LENGTH'),
    fileMs: int(age, undefined, 'age of the content of a file', 'RETENTION_FILE_MS'),
    filesBytes: int(size, undefined, 'the content of all files', 'RETENTION_FILES_BYTES'),
  },
};

/** The values of a group of options. */
export type ValuesOf<Group> = { -readonly [Name in keyof Group]: number };

/** The defaults of a group of options. */
export function defaultsOf<Group extends Record<string, NumberOption>>(group: Group): ValuesOf<Group> {
  const entries = Object.entries(group).map(([name, { value }]) => [name, value]);
  return Object.fromEntries(entries) as ValuesOf<Group>;
}

/**
 * Whether a value is a whole number of a range.
 *
 * @example
 * if (!isInRange(steps, [1, 1_000])) throw new RangeError(`steps must be ${rangeText([1, 1_000])}.`);
 */
export function isInRange(value: unknown, [min, max]: Range): boolean {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

/**
 * The range in words, for an error.
 *
 * @example
 * rangeText([1, 1_000]); // 'a whole number from 1 to 1000'
 */
export function rangeText([min, max]: Range): string {
  return `a whole number from ${min} to ${max}`;
}

/**
 * A group of options with the defaults in place of members that are absent or undefined.
 *
 * @param defaults the value of every option of the group
 * @param numbers those of the group that are whole numbers
 * @param faults gets a sentence for each unknown member and each value out of range
 */
export function withDefaults<T extends object>(
  name: string,
  values: { [K in keyof T]?: T[K] | undefined } | undefined,
  defaults: Readonly<T>,
  numbers: Partial<Record<keyof T, NumberOption>>,
  faults: string[],
): T {
  const group: T = { ...defaults };
  faults.push(...unknownMembers(values, defaults, name));
  for (const [key, value] of Object.entries(values ?? {}) as [keyof T & string, unknown][]) {
    if (value === undefined || !Object.hasOwn(defaults, key)) continue;
    const range = numbers[key]?.range;
    if (range && !isInRange(value, range))
      faults.push(`${name}.${key} is ${shown(value)}; it must be ${rangeText(range)}.`);
    else group[key] = value as T[typeof key];
  }
  return group;
}

/** A value of an option for an error: `JSON.stringify` shows `NaN` and `Infinity` as null. */
export function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value);
}

/**
 * The limits of one body. Every limit counts what remains after `Content-Encoding` is undone, and is enforced while the
 * body arrives: a body that exceeds a limit is refused at that byte, never read to its end first.
 */
export type BodyLimits = ValuesOf<typeof OPTIONS.limits>;

/**
 * The defaults of `limits`.
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, limits: { fileBytes: DEFAULT_BODY_LIMITS.fileBytes / 4 } })
 */
export const DEFAULT_BODY_LIMITS: Readonly<BodyLimits> = Object.freeze(defaultsOf(OPTIONS.limits));
