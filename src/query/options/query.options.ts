import { ConfigurableModuleBuilder, type ModuleMetadata, type Type } from '@nestjs/common';
import type { BodyLimits } from '../body/limits.js';
import type { AgentHandler, HandlerFunction } from '../ports/agent-handler.js';
import type { RunStore, SessionPolicy } from '../ports/run-store.js';

/**
 * What happens to a run when its last follower leaves: it goes on, it is cancelled, or it is cancelled unless somebody
 * follows it again within `graceMs`.
 */
export type DisconnectPolicy = 'continue' | 'cancel' | { graceMs: number };

/** How runs are executed. Times are milliseconds, lengths are characters of JSON. */
export interface RunOptions {
  /** The longest that a run may take, from the call of its handler. Default 900,000 (15 min). */
  timeoutMs: number;
  /** How long a handler that is asked to stop may take to do so before its run ends without it. Default 5,000. */
  stopDeadlineMs: number;
  /** The longest envelope that a handler may emit; a longer one fails the run. Default 4,194,304. */
  envelopeLength: number;
  /** What happens when the last follower leaves. Default `{ graceMs: 30_000 }`. */
  disconnect: DisconnectPolicy;
  /** How many runs may execute at once in this process. Default 10,000. */
  maxRunning: number;
  /** How many runs may wait in line in this process, for a session or for a place. Default 10,000. */
  maxWaiting: number;
  /** How many earlier turns a handler is given, the newest of them. Default 100. */
  sessionTurns: number;
  /** What a second query of a session meets while the first has not ended. Default `enqueue`. */
  sessionPolicy: SessionPolicy;
  /** How many queries of one session may wait; one more is 429. Default 100. */
  maxWaitingPerSession: number;
  /** When the service goes down, how long running runs may go on. Default 10,000. */
  drainMs: number;
}

/** How streams are written. Times are milliseconds. */
export interface StreamOptions {
  /** A silent stream carries a sign of life this often. Default 10,000. */
  keepAliveMs: number;
  /** What `retry:` tells clients of the full profile: how long to wait before they come back. Default 1,000. */
  retryMs: number;
}

/** What `QueryModule` takes. Everything has a default but the handler. */
export interface QueryModuleOptions {
  /**
   * Answers the queries: an injectable class, an instance, or just a function. A class may have dependencies: whatever
   * the modules in `imports` export, and global providers.
   */
  handler: Type<AgentHandler> | AgentHandler | HandlerFunction;
  /** The record of runs. Default: `new MemoryRunStore()`, in this process's memory. */
  store?: RunStore;
  /**
   * Tells whose a request is, from the adapter's request object; undefined is `anonymous`. Runs, sessions and idempotency
   * keys of different owners do not meet. Authentication itself is the host's (a guard has run when this is called).
   */
  owner?: (request: never) => string | undefined | Promise<string | undefined>;
  limits?: Partial<BodyLimits>;
  runs?: Partial<RunOptions>;
  streams?: Partial<StreamOptions>;
  /** Refuse files whose bytes are plainly of another type than they are said to be (400). Default false: tell, and go on. */
  rejectMismatchedTypes?: boolean;
  /** Where large files are kept while their run needs them. Default: a directory of ours under the system's temporary one. */
  spoolDirectory?: string;
}

/** What must be known before the options are: where the module is mounted and what its handler may be given. */
export interface QueryModuleExtras {
  /** The path of the endpoint, under the host's global prefix. Default `query`. */
  path?: string;
  /** Modules that export what the handler is injected with. */
  imports?: NonNullable<ModuleMetadata['imports']>;
  /** Export the module's providers to all modules. Default false. */
  isGlobal?: boolean;
}

export const RUN_DEFAULTS: RunOptions = {
  timeoutMs: 15 * 60_000,
  stopDeadlineMs: 5_000,
  envelopeLength: 4 * 1024 * 1024,
  disconnect: { graceMs: 30_000 },
  maxRunning: 10_000,
  maxWaiting: 10_000,
  sessionTurns: 100,
  sessionPolicy: 'enqueue',
  maxWaitingPerSession: 100,
  drainMs: 10_000,
};

export const STREAM_DEFAULTS: StreamOptions = { keepAliveMs: 10_000, retryMs: 1_000 };

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, ASYNC_OPTIONS_TYPE, OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<QueryModuleOptions>({ moduleName: 'Query' })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createQueryOptions')
    .setExtras<QueryModuleExtras>({ path: 'query', imports: [], isGlobal: false }, (definition, extras) => ({
      ...definition,
      imports: definition.imports ?? extras.imports ?? [],
      global: extras.isGlobal ?? false,
    }))
    .build();
