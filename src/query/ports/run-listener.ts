import type {
  DeliveryView,
  ErrorCode,
  HostCode,
  InputKind,
  InputOutcome,
  RunEnd,
  WebhookEvent,
  UsageEnvelope,
} from 'nest-agent-query-client';

/** A run, as listeners are told about it: without contents of the query and of the answer. */
export interface ObservedRun {
  id: string;
  owner: string;
  sessionId: string | undefined;
  /** The number of the attempt, from 1. */
  attempt: number;
  /** The id of its trace, which the tracer or the request has given; undefined if there is none. */
  traceId: string | undefined;
}

/** A query became a run. */
export interface RunAdmitted {
  run: ObservedRun;
  /** Whether the run waits, in the queue of its session or for a slot. */
  waits: boolean;
  /** How many files the query has. */
  files: number;
  /** How many bytes they have together, decoded. */
  fileBytes: number;
}

/** A query with a used idempotency key has found the run that the first query started. */
export interface QueryRepeated {
  run: ObservedRun;
}

/** A request of the endpoint was answered with a problem, or a query of the host itself was not admitted. */
export interface RequestRefused {
  code: ErrorCode | HostCode;
  /** The HTTP status of the code. */
  status: number;
  /** Whether the request was a query. If not, it was to follow, read, cancel or erase something. */
  isQuery: boolean;
  /** Undefined if the request was refused before its owner was known, for example by a guard. */
  owner: string | undefined;
  /** The session of a query that was valid; undefined for any other request. */
  sessionId: string | undefined;
}

/** The operations of a store that are timed at each call. */
export const TIMED_OPERATIONS = [
  'admit',
  'end',
  'endedRuns',
  'erase',
  'find',
  'fork',
  'part',
  'query',
  'queue',
  'runs',
  'saveCheckpoint',
  'saveFile',
  'sessions',
  'take',
  'turn',
  'turns',
] as const;

/** A method of `RunStore` whose time listeners are told. */
export type StoreOperation = (typeof TIMED_OPERATIONS)[number] | 'append' | 'read';

/** The store has answered, whatever the answer was. */
export interface StoreAnswered {
  operation: StoreOperation;
  /** How long it took, in milliseconds. Of envelopes that were committed together, the time of the commit is told once. */
  durationMs: number;
}

/** The handler of a run is called. */
export interface RunStarted {
  run: ObservedRun;
  /** How long the run has waited since its admission, in milliseconds. */
  waitedMs: number;
}

/** The handler of a run has emitted a `usage` envelope. */
export interface UsageAdded {
  run: ObservedRun;
  /** The data of the envelope. */
  usage: UsageEnvelope['data'];
  /** What the option `price` has returned for it; 0 without this option. */
  price: number;
}

/** A run has ended. */
export interface RunEnded {
  run: ObservedRun;
  status: RunEnd['status'];
  /** Why the run failed; undefined for another status. */
  errorCode: ErrorCode | HostCode | undefined;
  /** How long the run has waited, in milliseconds. */
  waitedMs: number;
  /** From the call of the handler to the end, in milliseconds; undefined if the handler was not called. */
  executedMs: number | undefined;
  /** From the call of the handler to its first envelope, in milliseconds; undefined if this process has seen none. */
  firstEnvelopeMs: number | undefined;
  /** How many envelopes the log has, `done` included. */
  envelopes: number;
  /** Characters of JSON that the handler has emitted in this process. */
  length: number;
  /** The sums of what the handler has emitted as `usage` envelopes in this process; empty without any. */
  usage: Readonly<Record<string, number>>;
}

/** A run asks. */
export interface RunAsked {
  run: ObservedRun;
  /** The kinds of its requests, in their order. */
  kinds: InputKind[];
}

/** A request of a run was resolved. */
export interface InputResolved {
  run: ObservedRun;
  /** The id of the request. */
  id: string;
  kind: InputKind;
  outcome: InputOutcome;
  /** The owner who has answered; null if nobody has. */
  by: string | null;
  /** From the question to this, in milliseconds. */
  waitedMs: number;
}

/** A webhook was tried. */
export interface WebhookTried {
  /** The name of the endpoint. */
  endpoint: string;
  event: WebhookEvent;
  /** What has become of it: `waiting` if it is tried again. */
  status: DeliveryView['status'];
  /** How often it was tried by now. */
  tries: number;
  /** In milliseconds. */
  durationMs: number;
}

/** A follower of a run has come or gone. */
export interface FollowerChanged {
  runId: string;
  /** How many followers the run has in this process now. */
  followers: number;
}

/**
 * Is told what happens to runs in this process; of several processes, the one that admits, executes or ends a run. Implement
 * the methods that you need. They are called after the fact, and are not waited for. What one throws is logged, and has no
 * other effect.
 *
 * Each method has a channel of `node:diagnostics_channel` with the same message: `nest-agent-query:` and its name, such as
 * `nest-agent-query:admitted`.
 *
 * `storeAnswered` is told if somebody wants it when the application starts. Reads and appends that the store answers from
 * memory are not told: there are too many.
 *
 * @example
 * @Injectable()
 * class UsageListener implements RunListener {
 *   constructor(private readonly accounts: AccountsService) {}
 *
 *   async ended({ run, usage }: RunEnded) {
 *     await this.accounts.add(run.owner, usage);
 *   }
 * }
 */
export interface RunListener {
  admitted?(event: RunAdmitted): unknown;
  repeated?(event: QueryRepeated): unknown;
  refused?(event: RequestRefused): unknown;
  started?(event: RunStarted): unknown;
  used?(event: UsageAdded): unknown;
  ended?(event: RunEnded): unknown;
  asked?(event: RunAsked): unknown;
  resolved?(event: InputResolved): unknown;
  webhookTried?(event: WebhookTried): unknown;
  followed?(event: FollowerChanged): unknown;
  unfollowed?(event: FollowerChanged): unknown;
  storeAnswered?(event: StoreAnswered): unknown;
}
