import type { IncomingHttpHeaders } from 'node:http';
import type { ControllerOptions, ModuleMetadata, Type } from '@nestjs/common';
import type { InputRequest, RunView, UsageEnvelope } from 'nest-agent-query-client';
import type { AgentHandler, HandlerFunction, Query } from '../ports/agent-handler.js';
import type { Dispatcher } from '../ports/other-processes.js';
import type { RunListener } from '../ports/run-listener.js';
import type { OnAsking, RunStore, SessionPolicy } from '../ports/run-store.js';
import type { RunTracer } from '../ports/run-tracer.js';
import type { BudgetPeriod } from '../ports/usage-store.js';
import { type BodyLimits, defaultsOf, OPTIONS, type ValuesOf } from './table.js';
import type { WebhookOptions } from './webhook-options.js';

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

/**
 * How much an owner may use in a period: each limit is from 0, and one of them must be given.
 *
 * @example
 * const budget: Budget = { per: 'day', tokens: 1_000_000, hard: true };
 */
export interface Budget {
  per: BudgetPeriod;
  /** Input and output tokens together. Default: no limit. */
  tokens?: number;
  /** In the unit of the option `price`. Default: no limit. */
  price?: number;
  /** Whether a run that executes fails as soon as it exceeds the budget. Default false: only new queries are refused. */
  hard?: boolean;
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
  /** Keeps runs, sessions and files; or a promise of it. Default: `new MemoryRunStore()`, in the memory of this process. */
  store?: RunStore | Promise<RunStore>;
  /** Brings waiting runs to processes with a free slot; or a promise of it. Default: the signals of the store. */
  dispatcher?: Dispatcher | Promise<Dispatcher>;
  /** Traces runs: see `RunTracer`; or a promise of it. Default: none. */
  tracer?: RunTracer | Promise<RunTracer>;
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
  /**
   * How much an owner may use of this module, in all processes that share the store. A query of an owner who has reached a limit
   * is refused (429 `budget_exceeded`). A function is asked at each query, and for hard budgets at each `usage` envelope. Default:
   * no budget.
   *
   * @example
   * budgets: [{ per: 'month', tokens: 10_000_000 }]
   *
   * @example
   * budgets: (owner) => [{ per: 'day', price: plans.of(owner).euros, hard: true }]
   */
  budgets?: readonly Budget[] | ((owner: string) => readonly Budget[] | Promise<readonly Budget[]>);
  /**
   * What a use of a model costs, in any unit: a number from 0 to 1,000,000,000, of which six decimal places are kept. Anything else,
   * or what it throws, fails the run. Default: nothing has a price.
   *
   * @example
   * price: ({ inputTokens, outputTokens }) => (0.25 * inputTokens + 2 * outputTokens) / 1_000_000
   */
  price?(usage: UsageEnvelope['data'], owner: string): number;
  /** Limits of the body of a query. */
  limits?: Partial<BodyLimits>;
  /** How runs are executed. */
  runs?: Partial<RunOptions>;
  /** How streams are written. */
  streams?: Partial<StreamOptions>;
  /** Where the events of runs are sent. A query cannot name a URL. Default: nowhere. */
  webhooks?: WebhookOptions;
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
