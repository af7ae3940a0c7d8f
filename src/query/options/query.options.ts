import type { IncomingHttpHeaders } from 'node:http';
import type { ControllerOptions, ModuleMetadata, Type } from '@nestjs/common';
import type { InputRequest, RunView } from 'nest-agent-query-client';
import type { AgentHandler, HandlerFunction, Query } from '../ports/agent-handler.js';
import type { Dispatcher } from '../ports/other-processes.js';
import type { RunListener } from '../ports/run-listener.js';
import type { OnAsking, RunStore, SessionPolicy } from '../ports/run-store.js';
import type { RunTracer } from '../ports/run-tracer.js';
import {
  type BodyLimits,
  DEFAULT_BODY_LIMITS,
  defaultsOf,
  isInRange,
  OPTIONS,
  rangeText,
  shown,
  type ValuesOf,
  withDefaults,
} from './table.js';
import { TypedKwargs } from './typed-kwargs.js';

/**
 * What happens to a run when its last follower leaves: it continues, it is cancelled, or it is cancelled unless it has a
 * follower again within `graceMs`.
 */
export type DisconnectPolicy = 'continue' | 'cancel' | { graceMs: number };

/** How runs are executed. Times are milliseconds, lengths are characters of JSON. */
export interface RunOptions extends ValuesOf<typeof OPTIONS.runs> {
  /** What happens when the last follower leaves. Default `{ graceMs: 30_000 }`. */
  disconnect: DisconnectPolicy;
  /** What happens to a query of a session that has an unfinished run: see `SessionPolicy`. Default `enqueue`. */
  sessionPolicy: SessionPolicy;
  /**
   * What happens to a run of the session that asks when a newer query comes: the query takes its place (`supersede`), waits
   * (`enqueue`), or is refused (`reject`, 409). Default `supersede`; a request with `hold` is never superseded.
   */
  onAsking: OnAsking;
}

/** How streams are written. Times are milliseconds. */
export type StreamOptions = ValuesOf<typeof OPTIONS.streams>;

/** The request of the host's adapter, for the option `owner`. Declare the parameter with the type of your own request to see more. */
export interface CallerRequest {
  /** The headers, with names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** The address of the caller, as the host's adapter finds it. */
  readonly ip?: string;
  /** What the host's guard has stored: most guards use this name, each with a type of its own. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly user?: any;
}

/** What `admit` is told of a query besides its content. */
export interface AdmissionContext {
  /** The owner of the run; `anonymous` without authentication. */
  owner: string;
  /** The request; undefined for a query that the host itself submits through `AgentService`. */
  request: CallerRequest | undefined;
  /** The idempotency key, if the caller sent one. */
  idempotencyKey: string | undefined;
  /** Whether the caller does not wait for the answer (`Prefer: respond-async`). */
  detached: boolean;
}

/** The options of `QueryModule`: all but the handler have a default. `K` is the type of the kwargs that the handler receives. */
export interface QueryModuleOptions<K extends object = Record<string, unknown>> {
  /**
   * Answers the queries: an injectable class, an instance, or a function. A class may inject what the modules in `imports`
   * export, and global providers.
   */
  handler: Type<AgentHandler<K>> | AgentHandler<K> | HandlerFunction<K>;
  /**
   * A class for kwargs, with decorators of class-validator. A query with faults in its kwargs is refused (400
   * `invalid_query`), and the handler receives an instance. A key without a decorator is not validated, and reaches the
   * handler unchanged. Default: none, so that kwargs are any object.
   */
  kwargs?: Type<K>;
  /** Keeps runs, sessions and files. Default: `new MemoryRunStore()`, in the memory of this process. */
  store?: RunStore;
  /** Brings waiting runs to processes with a free slot. Default: the signals of the store. */
  dispatcher?: Dispatcher;
  /** Traces runs: see `RunTracer`. Default: none. */
  tracer?: RunTracer;
  /**
   * Returns the owner of a request; undefined for `anonymous`. The guards of the host have run before: they authenticate. An
   * owner never sees the runs, sessions and idempotency keys of another.
   *
   * @example
   * owner: (request: { user?: { id: string } }) => request.user?.id
   */
  owner?(request: CallerRequest): string | undefined | Promise<string | undefined>;
  /**
   * Decides whether a query may become a run. It is called before anything of the query is kept, and refuses by throwing a
   * `QueryError`: the caller gets its code and status. A query that repeats an idempotency key finds its run all the same, also
   * if it is refused; so `admit` may be called more than once for a run.
   *
   * @example
   * admit: async (query, { owner }) => {
   *   if (await quota.isUsedUp(owner)) throw new QueryError('quota_exceeded', 'The quota is used up.', { status: 402 });
   * }
   */
  admit?(query: Query<K>, context: AdmissionContext): void | Promise<void>;
  /**
   * Whether a caller may answer a request of a run of somebody else, for example as the person who approves. Callers may always
   * answer the requests of their own runs. Default: nobody else may.
   *
   * @param owner the owner of the request that brings the answer
   * @param run the run that asks, and its owner
   *
   * @example
   * canAnswer: (owner, run) => approvers.of(run.owner).includes(owner)
   */
  canAnswer?(
    owner: string,
    run: RunView & { owner: string },
    request: InputRequest,
  ): boolean | Promise<boolean>;
  /** Limits of the body of a query. */
  limits?: Partial<BodyLimits>;
  /** How runs are executed. */
  runs?: Partial<RunOptions>;
  /** How streams are written. */
  streams?: Partial<StreamOptions>;
  /** Refuse a file whose bytes are clearly of another type than its `mimeType` (400). Default false: only report it. */
  rejectMismatchedTypes?: boolean;
  /** The directory for large files while their run needs them. Default: in the system's directory for temporary files. */
  spoolDirectory?: string;
}

/**
 * What a process does: `all` admits queries and executes runs; `api` only admits and follows, and other processes execute;
 * `worker` only executes, and has no endpoint. `api` and `worker` need a store that processes share.
 */
export type Role = 'all' | 'api' | 'worker';

/** What Nest must know before a factory can run: where the module is mounted, and what its handler may inject. */
export interface QueryModuleExtras {
  /** See `QueryModuleOptions`. A class given here is a provider of its own: it has a lifecycle, and tests can override it. */
  handler?: AnyModuleOptions['handler'];
  /**
   * Tells several modules of a host apart: `@InjectAgent(name)` injects the `AgentService` of this one. In a store that several
   * modules have, the runs of a name belong to it, so it must not change. 1 to 64 letters, digits, `_`, `-` or `.`. Default: the
   * module without a name, whose `AgentService` is injected by its class.
   */
  name?: string;
  /** The path of the endpoint, under the global prefix of the host. Default `query`. */
  path?: string;
  /** The version of the endpoint, as Nest's `@Controller({ version })` takes it. Without effect unless the host has versions. */
  version?: NonNullable<ControllerOptions['version']>;
  /** The host names that the endpoint serves, as Nest's `@Controller({ host })` takes them. Default: all. */
  host?: NonNullable<ControllerOptions['host']>;
  /**
   * Decorators of this endpoint alone, as a controller class takes them: guards, interceptors, metadata. They are applied in
   * this order. What they name may inject what the modules in `imports` export, and global providers.
   *
   * @example
   * decorators: [UseGuards(JwtGuard), Throttle({ default: { limit: 10, ttl: 60_000 } }), ApiTags('agent')]
   */
  decorators?: readonly ClassDecorator[];
  /** What this process does. Default `all`. */
  role?: Role;
  /** Are told what happens to runs: see `RunListener`. A class may inject what the modules in `imports` export. Default: none. */
  listeners?: (Type<RunListener> | RunListener)[];
  /** Modules that export what the handler injects. */
  imports?: NonNullable<ModuleMetadata['imports']>;
  /** Whether all modules of the host can inject what the module exports. Default false. */
  isGlobal?: boolean;
}

/**
 * The defaults of `runs`.
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, runs: { timeoutMs: 2 * RUN_DEFAULTS.timeoutMs } })
 */
export const RUN_DEFAULTS: Readonly<RunOptions> = Object.freeze({
  ...defaultsOf(OPTIONS.runs),
  disconnect: defaultsOf(OPTIONS.disconnect),
  sessionPolicy: 'enqueue',
  onAsking: 'supersede',
});

/**
 * The defaults of `streams`.
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, streams: { keepAliveMs: STREAM_DEFAULTS.keepAliveMs / 2 } })
 */
export const STREAM_DEFAULTS: Readonly<StreamOptions> = Object.freeze(defaultsOf(OPTIONS.streams));

/** The options of a module whose handler may be given beside the factory, so that their types cannot be compared. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type AnyModuleOptions = QueryModuleOptions<any>;

/** What the factory of `QueryModule.forRootAsync` returns. */
export type QueryModuleFactoryOptions = Omit<AnyModuleOptions, 'handler'> & {
  /** The handler, unless it is given beside the factory. Give a class there, so that tests can override it. */
  handler?: AnyModuleOptions['handler'];
};

const GRACE = OPTIONS.disconnect.graceMs.range;

/** What the options must be that are no numbers. */
const RULES: [option: string, must: string, isValid: (value: unknown) => boolean][] = [
  ['runs.disconnect', `"continue", "cancel" or { graceMs: ${rangeText(GRACE)} }`, isDisconnectPolicy],
  ['runs.sessionPolicy', '"enqueue", "reject" or "interrupt"', isOneOf('enqueue', 'reject', 'interrupt')],
  ['runs.onAsking', '"supersede", "enqueue" or "reject"', isOneOf('supersede', 'enqueue', 'reject')],
  ['role', '"all", "api" or "worker"', isOneOf('all', 'api', 'worker')],
  ['rejectMismatchedTypes', 'true or false', (value) => typeof value === 'boolean'],
  ['spoolDirectory', 'the path of a directory', (value) => typeof value === 'string' && value !== ''],
  ['owner', 'a function', isFunction],
  ['admit', 'a function', isFunction],
  ['canAnswer', 'a function', isFunction],
];

function isDisconnectPolicy(value: unknown): boolean {
  const graceMs = (value as { graceMs?: unknown } | null)?.graceMs;
  return value === 'continue' || value === 'cancel' || isInRange(graceMs, GRACE);
}

function isOneOf(...values: unknown[]): (value: unknown) => boolean {
  return (value) => values.includes(value);
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

/** The options of the module: checked, and with their defaults. */
export class Settings {
  readonly limits: Readonly<BodyLimits>;
  readonly runs: Readonly<RunOptions>;
  readonly streams: Readonly<StreamOptions>;
  /** Undefined where the host has no class for kwargs. */
  readonly kwargs: TypedKwargs | undefined;
  readonly store: RunStore | undefined;
  readonly dispatcher: Dispatcher | undefined;
  readonly tracer: RunTracer | undefined;
  /** The path of the endpoint, without the global prefix of the host; it begins with `/`. */
  readonly path: string;
  /** The name of the module; undefined for the module without a name. */
  readonly name: string | undefined;
  readonly role: Role;
  readonly rejectMismatchedTypes: boolean;
  readonly spoolDirectory: string | undefined;
  readonly admit: (query: Query, context: AdmissionContext) => void | Promise<void>;
  /** Undefined where only owners answer. */
  readonly canAnswer: QueryModuleOptions['canAnswer'];
  readonly owner: (request: CallerRequest) => string | undefined | Promise<string | undefined>;

  /**
   * Checks the options of the module. An undefined member counts as absent.
   *
   * @param options as the host or its factory gives them
   * @param extras what the host has given beside them
   * @throws {TypeError} with a line for each option that is unknown or out of its range; or the handler is given twice
   */
  constructor(options: QueryModuleFactoryOptions, extras: QueryModuleExtras = {}) {
    const { handler, limits, runs, streams, kwargs, store, dispatcher, tracer, ...others } = options;
    const { owner, admit, canAnswer, rejectMismatchedTypes, spoolDirectory, ...unknown } = others;
    const { name, path = 'query', role } = extras;
    if (handler !== undefined && extras.handler !== undefined) {
      throw new TypeError(
        'QueryModule: the handler is given beside the factory and by the factory. Remove one of them.',
      );
    }
    const faults: string[] = [];
    for (const [option, value] of Object.entries(unknown))
      if (value !== undefined) faults.push(`${option} is not an option.`);
    this.limits = withDefaults('limits', limits, DEFAULT_BODY_LIMITS, OPTIONS.limits, faults);
    this.runs = withDefaults('runs', runs, RUN_DEFAULTS, OPTIONS.runs, faults);
    this.streams = withDefaults('streams', streams, STREAM_DEFAULTS, OPTIONS.streams, faults);
    this.kwargs = kwargsOf(kwargs, faults);
    this.store = store;
    this.dispatcher = dispatcher;
    this.tracer = tracer;
    this.name = name;
    this.role = role ?? 'all';
    this.path = `/${path.replace(/^\/+|\/+$/g, '')}`;
    this.rejectMismatchedTypes = rejectMismatchedTypes ?? false;
    this.spoolDirectory = spoolDirectory;
    this.owner = (request) => owner?.(request);
    this.admit = (query, context) => admit?.(query, context);
    this.canAnswer = canAnswer && ((...asked) => canAnswer(...asked));

    const values: Record<string, unknown> = {
      ...others,
      role,
      'runs.disconnect': this.runs.disconnect,
      'runs.sessionPolicy': this.runs.sessionPolicy,
      'runs.onAsking': this.runs.onAsking,
    };
    for (const [option, must, isValid] of RULES) {
      const value = values[option];
      if (value !== undefined && !isValid(value))
        faults.push(`${option} is ${shown(value)}; it must be ${must}.`);
    }
    if (['api', 'worker'].includes(this.role) && !store?.signals.isShared)
      faults.push(`role is "${role}"; this needs a store that several processes share, such as Postgres.`);
    if (faults.length > 0)
      throw new TypeError(`QueryModule cannot start with these options:\n${faults.join('\n')}`);
  }
}

function kwargsOf(type: QueryModuleFactoryOptions['kwargs'], faults: string[]): TypedKwargs | undefined {
  try {
    return type === undefined ? undefined : new TypedKwargs(type);
  } catch (error) {
    faults.push((error as Error).message);
    return undefined;
  }
}
