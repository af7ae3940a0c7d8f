import { Transform, plainToInstance } from 'class-transformer';
import { IsIn, type ValidationArguments, ValidateBy, validateSync } from 'class-validator';
import {
  DEFAULT_BODY_LIMITS,
  isInRange,
  type QueryModuleOptions,
  type Range,
  RANGES,
  type Role,
  rangeText,
  RUN_DEFAULTS,
  type SessionPolicy,
  STREAM_DEFAULTS,
} from './query/index.js';

/** The service cannot start with this environment. The message has a line for each faulty variable. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/** The variables of the standalone service. Sizes are bytes, times milliseconds. */
export class Environment {
  /** The address to listen on. */
  @Text()
  readonly HOST: string = '127.0.0.1';

  /** The port to listen on; 0 takes a free one. */
  @WholeNumber([0, 65_535])
  readonly PORT: number = 3000;

  /** `files` for the built-in agent, or the path of a module whose default export is a handler. */
  @Text()
  readonly AGENT: string = 'files';

  /** Where runs, logs, sessions and files are kept: `file:<path>`, `postgres://…` or `memory:`. */
  @Text()
  readonly DATABASE_URL: string = 'file:./data/agent-query.db';

  /**
   * The queue that brings waiting runs to free slots: `postgres://…` or `redis://…`. If empty, the signals of the database do
   * that. Needs a `DATABASE_URL` that processes share.
   */
  @Text({ mayBeEmpty: true })
  readonly QUEUE_URL: string = '';

  /** How long a run and its log are kept after its end. */
  @WholeNumber(RANGES.retention.runMs, { mayBeAbsent: true })
  readonly RETENTION_RUN_MS: number | undefined = undefined;

  /** How much of the log of an unfinished run is kept, in characters of JSON; never less than the newest 64 Ki. */
  @WholeNumber(RANGES.retention.logLength, { mayBeAbsent: true })
  readonly RETENTION_LOG_LENGTH: number | undefined = undefined;

  /** How much is kept of all logs together, in characters of JSON. */
  @WholeNumber(RANGES.retention.totalLength, { mayBeAbsent: true })
  readonly RETENTION_TOTAL_LENGTH: number | undefined = undefined;

  /** How long a session is kept after its last turn. */
  @WholeNumber(RANGES.retention.sessionMs, { mayBeAbsent: true })
  readonly RETENTION_SESSION_MS: number | undefined = undefined;

  /** How much is kept of the turns of all sessions together, in characters of JSON. */
  @WholeNumber(RANGES.retention.sessionsLength, { mayBeAbsent: true })
  readonly RETENTION_SESSIONS_LENGTH: number | undefined = undefined;

  /** How long the content of a file is kept. Not with `DATABASE_URL=memory:`. */
  @WholeNumber(RANGES.retention.fileMs, { mayBeAbsent: true })
  readonly RETENTION_FILE_MS: number | undefined = undefined;

  /** How many bytes of contents of files are kept. */
  @WholeNumber(RANGES.retention.filesBytes, { mayBeAbsent: true })
  readonly RETENTION_FILES_BYTES: number | undefined = undefined;

  /** One file, decoded. */
  @WholeNumber(RANGES.limits.fileBytes)
  readonly MAX_FILE_BYTES: number = DEFAULT_BODY_LIMITS.fileBytes;

  /** All files of a query, decoded. */
  @WholeNumber(RANGES.limits.filesBytes)
  readonly MAX_FILES_BYTES: number = DEFAULT_BODY_LIMITS.filesBytes;

  /** All files that are on disk at the same time, of all queries. */
  @WholeNumber(RANGES.limits.spoolBytes)
  readonly MAX_SPOOL_BYTES: number = DEFAULT_BODY_LIMITS.spoolBytes;

  /** One text. */
  @WholeNumber(RANGES.limits.textBytes)
  readonly MAX_TEXT_BYTES: number = DEFAULT_BODY_LIMITS.textBytes;

  /** Everything in a query that is not file content. */
  @WholeNumber(RANGES.limits.documentBytes)
  readonly MAX_DOCUMENT_BYTES: number = DEFAULT_BODY_LIMITS.documentBytes;

  /** JSON values in a query: strings, numbers, literals, arrays and objects. */
  @WholeNumber(RANGES.limits.values)
  readonly MAX_VALUES: number = DEFAULT_BODY_LIMITS.values;

  /** Parts of a query. */
  @WholeNumber(RANGES.limits.parts)
  readonly MAX_PARTS: number = DEFAULT_BODY_LIMITS.parts;

  /** Levels of nested arrays and objects. */
  @WholeNumber(RANGES.limits.depth)
  readonly MAX_DEPTH: number = DEFAULT_BODY_LIMITS.depth;

  /** How long a body may make no progress. */
  @WholeNumber(RANGES.limits.idleMs)
  readonly BODY_IDLE_MS: number = DEFAULT_BODY_LIMITS.idleMs;

  /** A file up to this size stays in memory. A larger one is written to the spool. */
  @WholeNumber(RANGES.limits.memoryBytes)
  readonly FILE_MEMORY_BYTES: number = DEFAULT_BODY_LIMITS.memoryBytes;

  /** The directory of the spool. If empty, the system's directory for temporary files. */
  @Text({ mayBeEmpty: true })
  readonly SPOOL_DIRECTORY: string = '';

  /** Whether to refuse files whose bytes are clearly of another type than declared. */
  @IsIn(['true', 'false'], { message: mustBe('"true" or "false"') })
  readonly REJECT_MISMATCHED_TYPES: 'true' | 'false' = 'false';

  /** What this process does: `all`, `api` (admits and follows) or `worker` (executes). The last two need Postgres. */
  @IsIn(['all', 'api', 'worker'], { message: mustBe('"all", "api" or "worker"') })
  readonly ROLE: Role = 'all';

  /** The time limit of a run. */
  @WholeNumber(RANGES.runs.timeoutMs)
  readonly RUN_TIMEOUT_MS: number = RUN_DEFAULTS.timeoutMs;

  /** How long slow followers may hold a handler back at a time; it does not count for `RUN_TIMEOUT_MS`. */
  @WholeNumber(RANGES.runs.backpressureMs)
  readonly BACKPRESSURE_MS: number = RUN_DEFAULTS.backpressureMs;

  /** How long a handler may take to stop after its signal was aborted. */
  @WholeNumber(RANGES.runs.stopDeadlineMs)
  readonly STOP_DEADLINE_MS: number = RUN_DEFAULTS.stopDeadlineMs;

  /** What happens to a run when its last follower leaves. */
  @IsIn(['continue', 'cancel', 'grace'], { message: mustBe('"continue", "cancel" or "grace"') })
  readonly DISCONNECT: 'continue' | 'cancel' | 'grace' = 'grace';

  /** With `DISCONNECT=grace`: how long the run waits for a follower. */
  @WholeNumber(RANGES.disconnect.graceMs)
  readonly DISCONNECT_GRACE_MS: number = 30_000;

  /** Runs that execute at once. */
  @WholeNumber(RANGES.runs.maxRunning)
  readonly MAX_RUNNING: number = RUN_DEFAULTS.maxRunning;

  /** Runs that wait. */
  @WholeNumber(RANGES.runs.maxWaiting)
  readonly MAX_WAITING: number = RUN_DEFAULTS.maxWaiting;

  /** What happens to a query of a session that has an unfinished run. */
  @IsIn(['enqueue', 'reject', 'interrupt'], { message: mustBe('"enqueue", "reject" or "interrupt"') })
  readonly SESSION_POLICY: SessionPolicy = RUN_DEFAULTS.sessionPolicy;

  /** Queries of one session that wait. */
  @WholeNumber(RANGES.runs.maxWaitingPerSession)
  readonly MAX_WAITING_PER_SESSION: number = RUN_DEFAULTS.maxWaitingPerSession;

  /** Earlier turns that a handler is given at most. */
  @WholeNumber(RANGES.runs.sessionTurns)
  readonly SESSION_TURNS: number = RUN_DEFAULTS.sessionTurns;

  /** How often an idle stream sends a keep-alive. */
  @WholeNumber(RANGES.streams.keepAliveMs)
  readonly KEEP_ALIVE_MS: number = STREAM_DEFAULTS.keepAliveMs;

  /** How long runs may continue when the service shuts down. */
  @WholeNumber(RANGES.runs.drainMs)
  readonly DRAIN_MS: number = RUN_DEFAULTS.drainMs;
}

/**
 * Reads the environment. An empty variable counts as absent.
 *
 * @throws {ConfigurationError} it names each faulty variable, its value and what it may be
 */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  const known = Object.keys(new Environment());
  const given = Object.fromEntries(
    known.flatMap((name) => (variables[name] ? [[name, variables[name]]] : [])),
  );
  const environment = plainToInstance(Environment, given);
  const faults = validateSync(environment).flatMap(({ constraints }) => Object.values(constraints ?? {}));
  if (environment.DATABASE_URL === 'memory:' && environment.RETENTION_FILE_MS !== undefined) {
    faults.push(
      'RETENTION_FILE_MS has no effect with DATABASE_URL=memory:, which keeps a file as long as its session. ' +
        'Unset RETENTION_FILE_MS, or let DATABASE_URL name a file or a Postgres database.',
    );
  }
  const isShared = /^postgres(ql)?:/.test(environment.DATABASE_URL);
  if (environment.QUEUE_URL !== '' && !isShared) {
    faults.push(
      'QUEUE_URL has no effect with a DATABASE_URL that belongs to one process. ' +
        'Unset QUEUE_URL, or let DATABASE_URL name a Postgres database.',
    );
  }
  if (environment.ROLE !== 'all' && !isShared) {
    faults.push(
      `ROLE is "${environment.ROLE}"; this needs a DATABASE_URL that several processes share: postgres://<user>@<host>/<database>.`,
    );
  }
  if (faults.length > 0) throw new ConfigurationError(faults.join('\n'));
  return environment;
}

/** The options of the module as the environment sets them, without the handler. */
export function queryOptions(environment: Environment): Omit<QueryModuleOptions, 'handler'> {
  return {
    limits: {
      fileBytes: environment.MAX_FILE_BYTES,
      filesBytes: environment.MAX_FILES_BYTES,
      spoolBytes: environment.MAX_SPOOL_BYTES,
      textBytes: environment.MAX_TEXT_BYTES,
      documentBytes: environment.MAX_DOCUMENT_BYTES,
      values: environment.MAX_VALUES,
      parts: environment.MAX_PARTS,
      depth: environment.MAX_DEPTH,
      idleMs: environment.BODY_IDLE_MS,
      memoryBytes: environment.FILE_MEMORY_BYTES,
    },
    ...(environment.SPOOL_DIRECTORY && { spoolDirectory: environment.SPOOL_DIRECTORY }),
    rejectMismatchedTypes: environment.REJECT_MISMATCHED_TYPES === 'true',
    runs: {
      timeoutMs: environment.RUN_TIMEOUT_MS,
      backpressureMs: environment.BACKPRESSURE_MS,
      stopDeadlineMs: environment.STOP_DEADLINE_MS,
      disconnect:
        environment.DISCONNECT === 'grace'
          ? { graceMs: environment.DISCONNECT_GRACE_MS }
          : environment.DISCONNECT,
      maxRunning: environment.MAX_RUNNING,
      maxWaiting: environment.MAX_WAITING,
      sessionPolicy: environment.SESSION_POLICY,
      maxWaitingPerSession: environment.MAX_WAITING_PER_SESSION,
      sessionTurns: environment.SESSION_TURNS,
      drainMs: environment.DRAIN_MS,
    },
    streams: { keepAliveMs: environment.KEEP_ALIVE_MS },
  };
}

/** The retention that the environment sets. A member that is undefined stands for the default of the store. */
export function retentionOptions(environment: Environment) {
  return {
    runMs: environment.RETENTION_RUN_MS,
    logLength: environment.RETENTION_LOG_LENGTH,
    totalLength: environment.RETENTION_TOTAL_LENGTH,
    sessionMs: environment.RETENTION_SESSION_MS,
    sessionsLength: environment.RETENTION_SESSIONS_LENGTH,
    fileMs: environment.RETENTION_FILE_MS,
    filesBytes: environment.RETENTION_FILES_BYTES,
  };
}

function WholeNumber(range: Range, { mayBeAbsent = false } = {}): PropertyDecorator {
  const validate = (value: unknown) => (mayBeAbsent && value === undefined) || isInRange(value, range);
  const rule = ValidateBy(
    { name: 'wholeNumber', validator: { validate } },
    { message: mustBe(rangeText(range)) },
  );
  const read = Transform(({ value }: { value: unknown }) =>
    /^\d+$/.test(String(value)) ? Number(value) : value,
  );
  return (target, property) => {
    read(target, property);
    rule(target, property);
  };
}

function Text({ mayBeEmpty = false } = {}): PropertyDecorator {
  const isText = (value: unknown) => typeof value === 'string' && (mayBeEmpty || value.trim() !== '');
  return ValidateBy(
    { name: 'text', validator: { validate: isText } },
    { message: mustBe('a text that is not empty') },
  );
}

function mustBe(what: string) {
  return ({ property, value }: ValidationArguments) =>
    `${property} is ${JSON.stringify(value)}; it must be ${what}.`;
}
