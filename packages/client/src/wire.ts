/** The JSON shapes of the interface. This file contains types only. */

/**
 * The closed list of codes, in problems and in the `done` envelope. Codes are added, never changed.
 *
 * `refused` is for every other 4xx that the host itself answers with, for example from a guard; status and detail are the
 * host's. From `handler_failed` on, codes occur only at the end of a run, as `error.code` of the `done` envelope.
 */
export type ErrorCode =
  | 'invalid_json'
  | 'invalid_query'
  | 'file_missing'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'body_timeout'
  | 'session_busy'
  | 'session_exists'
  | 'invalid_answer'
  | 'input_resolved'
  | 'input_expired'
  | 'run_ended'
  | 'cursor_expired'
  | 'file_expired'
  | 'limit_exceeded'
  | 'unsupported_media_type'
  | 'unsupported_encoding'
  | 'range_not_satisfiable'
  | 'idempotency_conflict'
  | 'rate_limited'
  | 'session_full'
  | 'budget_exceeded'
  | 'refused'
  | 'internal'
  | 'at_capacity'
  | 'draining'
  | 'unavailable'
  | 'storage_full'
  | 'handler_failed'
  | 'invalid_envelope'
  | 'run_timeout'
  | 'followers_stalled'
  | 'answer_too_fast'
  | 'interrupted';

/** A code of the host or of its handler, in lower case, such as `quota_exceeded`. */
export type HostCode = string & Record<never, never>;

/** One event of an answer, as the handler emits it and as the caller reads it from a `data:` line. */
export interface Envelope {
  /** The kind of the event. The types below have a defined meaning; any other name may be used. */
  type: string;
  /** Any value that JSON can represent. */
  data: unknown;
}

/** A part of the agent's response text. Neighbouring parts with the same `id`, or without one, are one message. */
export interface MessageEnvelope extends Envelope {
  type: 'message';
  data: { content: string; id?: string };
}

/** A part of the reasoning that the model shows. The `id` is as that of a message. */
export interface ReasoningEnvelope extends Envelope {
  type: 'reasoning';
  data: { content: string; id?: string };
}

/** The agent calls a tool. `arguments` is any value that JSON can represent. */
export interface ToolCallEnvelope extends Envelope {
  type: 'tool_call';
  data: { id: string; name: string; arguments: unknown };
}

/** What a tool has returned. `id` is that of the call; `content` is any value that JSON can represent. */
export interface ToolResultEnvelope extends Envelope {
  type: 'tool_result';
  data: { id: string; content: unknown; isError?: boolean };
}

/**
 * A file of the answer, as callers read it and as turns have it. `GET {path}` returns the content; `path` is that of the service
 * which the query was sent to.
 */
export interface FileEnvelope extends Envelope {
  type: 'file';
  data: {
    name: string;
    mimeType: string;
    /** Bytes. */
    size: number;
    /** SHA-256 of the content, lower-case hexadecimal. */
    sha256: string;
    path: string;
  };
}

/** The content of a file that a handler emits: a `Blob` or `File`, bytes, or a stream of bytes. */
export type EmittedContent = Blob | Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** A file of the answer, as a handler emits it. The service stores the content, and callers read a `FileEnvelope`. */
export interface EmittedFileEnvelope extends Envelope {
  type: 'file';
  data: { name: string; mimeType: string; content: EmittedContent };
}

/** A source of the answer. */
export interface SourceEnvelope extends Envelope {
  type: 'source';
  data: { url: string; title?: string };
}

/** A request that a person can send next. */
export interface Suggestion {
  /** What is sent. */
  text: string;
  /** What is shown in its place; absent if `text` is shown. */
  label?: string;
  /** Files that are sent with it: the members of file parts, with the content as base64 (RFC 4648 §4). */
  files?: { name: string; mimeType: string; base64: string }[];
}

/** The structured result of the run: any value that JSON can represent. A run has one at most. */
export interface ResultEnvelope extends Envelope {
  type: 'result';
  data: { value: unknown };
}

/** Requests that a person can send next, 1 to 8 of them. Those of the newest answer hold. */
export interface SuggestionsEnvelope extends Envelope {
  type: 'suggestions';
  data: { items: Suggestion[] };
}

/** The progress of long work: `done` of `total`, each a number from 0. */
export interface ProgressEnvelope extends Envelope {
  type: 'progress';
  data: { done: number; total?: number; unit?: string; label?: string };
}

/** What the models of the answer have used, since the last envelope of this type. Each number is from 0. */
export interface UsageEnvelope extends Envelope {
  type: 'usage';
  data: {
    inputTokens: number;
    outputTokens: number;
    reasoningTokens?: number;
    cachedInputTokens?: number;
    model?: string;
  };
}

/** Diagnostic or progress text. */
export interface LogEnvelope extends Envelope {
  type: 'log';
  data: { message: string };
}

/**
 * What a request of a run asks for: whether a call may be made (`approval`), a value (`input`), the result of a call that the
 * client executes (`tool`), or that a person signs in at `url` (`auth`).
 */
export type InputKind = 'approval' | 'input' | 'tool' | 'auth';

/** One request of a run that asks. */
export interface InputRequest {
  /** Names the request within its run: the `key` that the handler has given it. */
  id: string;
  kind: InputKind;
  /** What a person is asked. */
  message: string;
  /** `approval` and `tool`: the id, the name and the arguments of the call. */
  toolCallId?: string;
  name?: string;
  arguments?: unknown;
  /** `approval`: whether the answer may replace the arguments. */
  editable?: true;
  /** `input`: a JSON Schema (draft 2020-12) that the answer must match. Absent if the answer is a string. */
  schema?: Record<string, unknown> | boolean;
  /** `auth`: where the person signs in. */
  url?: string;
  /** The value of the answer is not written to the log. */
  private?: true;
  /** A newer query of the session does not take the place of this request. */
  hold?: true;
  /** When the request expires, as ISO 8601 in UTC. */
  expiresAt: string;
  /** What happens then: the handler goes on without an answer, the run fails, or this is the value of the answer. */
  onExpire: 'decline' | 'fail' | { value: unknown };
}

/** What has become of a request. A caller sends `answered` or `declined`; the others are written by the service. */
export type InputOutcome = 'answered' | 'declined' | 'expired' | 'superseded' | 'cancelled';

/** The answer to a request, as a caller sends it. */
export interface InputAnswer {
  /** The id of the request. */
  id: string;
  outcome: 'answered' | 'declined';
  /**
   * `answered`: for an `approval` an `ApprovalValue`, for an `input` what the schema says, for a `tool` a `ToolValue`, for an
   * `auth` an empty object. Absent for `declined`.
   */
  value?: unknown;
}

/** The value of the answer to an `approval`. */
export interface ApprovalValue {
  approved: boolean;
  /** Replace all arguments of the call, if the request is `editable`. */
  arguments?: Record<string, unknown>;
  /** For the agent: why. */
  reason?: string;
}

/** The value of the answer to a `tool`. */
export interface ToolValue {
  content: unknown;
  isError?: boolean;
}

/** How a request was resolved. */
export interface ResolvedInput {
  id: string;
  outcome: InputOutcome;
  /** Absent without one. In the log it is also absent for a `private` request. */
  value?: unknown;
  /** The owner who has answered; null if nobody has. */
  by: string | null;
  /** ISO 8601 in UTC. */
  at: string;
}

/** The run asks, and does not execute until all these requests are resolved. Written through `context.ask`. */
export interface InputRequiredEnvelope extends Envelope {
  type: 'input_required';
  /** 1 to 64 requests. */
  data: { requests: InputRequest[] };
}

/** Requests of the run were resolved. The service writes it, never a handler. */
export interface InputResolvedEnvelope extends Envelope {
  type: 'input_resolved';
  data: { answers: ResolvedInput[] };
}

/** A request with its run, and with what has become of it. */
export interface InputView extends InputRequest {
  runId: string;
  /** The session of the run, or null. */
  session: string | null;
  /** When the run has asked, as ISO 8601 in UTC. */
  askedAt: string;
  /** How it was resolved; null while it is open. */
  resolved: Omit<ResolvedInput, 'id'> | null;
}

/** The requests of one run, as `GET {base}/query/{runId}/inputs` returns them: in the order in which they were asked. */
export interface RunInputs {
  inputs: InputView[];
}

/** A page of the open requests of a caller, as `GET {base}/query/inputs` returns it. */
export interface InputList {
  /** Newest first. */
  inputs: InputView[];
  /** The value of `after` for the next page; null at the end. */
  next: string | null;
}

/** The last envelope of every run. The service writes it, never a handler. */
export interface DoneEnvelope extends Envelope {
  type: 'done';
  data: RunEnd;
}

/**
 * The handler of the run is executed again, from its last checkpoint. The service writes it, never a handler. Earlier
 * envelopes with a number greater than `from` are void.
 */
export interface RestartedEnvelope extends Envelope {
  type: 'restarted';
  /** `attempt` is the number of the new attempt, from 2; `from` is 0 if all earlier envelopes are void. */
  data: { attempt: number; from: number };
}

/** Why a run failed. */
export interface RunFailure {
  code: ErrorCode | HostCode;
  message: string;
}

/** How a run ended. */
export type RunEnd =
  { status: 'completed' } | { status: 'cancelled' } | { status: 'failed'; error: RunFailure };

/** The state of a run: in a queue, executing, asking (`input_required`), or how it ended. */
export type RunStatus = 'waiting' | 'running' | 'input_required' | RunEnd['status'];

/** A run as `GET {base}/query/{runId}` returns it. Times are ISO 8601 in UTC. */
export interface RunView {
  id: string;
  status: RunStatus;
  /** The session that the query named, or null. */
  session: string | null;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  /** The number of envelopes so far, `done` included. */
  events: number;
  /** What the query says about itself; absent if it says nothing. */
  metadata?: Record<string, string>;
  /** Why the run failed; absent for any other status. */
  error?: RunFailure;
}

/** What a webhook tells. */
export type WebhookEvent = 'run.completed' | 'run.failed' | 'run.cancelled' | 'run.input_required';

/** The body of a webhook. */
export interface WebhookMessage {
  type: WebhookEvent;
  /** When it happened, as ISO 8601 in UTC. */
  timestamp: string;
  data: {
    /** The run as it was then. */
    run: RunView;
    /** The ids of the requests, where the run asks. */
    inputs?: string[];
  };
}

/** A webhook for one endpoint. Times are ISO 8601 in UTC. */
export interface DeliveryView {
  /** The header `webhook-id`. */
  id: string;
  /** The name of the endpoint. */
  endpoint: string;
  event: WebhookEvent;
  /** `waiting`: it is still tried. `failed`: it is not, unless it is sent again. */
  status: 'waiting' | 'delivered' | 'failed';
  /** How often it was tried since it was made, or was sent again. */
  tries: number;
  createdAt: string;
  /** When it was tried last; null before. */
  triedAt: string | null;
  /** When it is tried next; null unless it waits. */
  dueAt: string | null;
  /** Why the last try has failed; null if none has. */
  error: string | null;
}

/** The webhooks of one run, as `GET {base}/query/{runId}/deliveries` returns them: in the order of the events. */
export interface RunDeliveries {
  deliveries: DeliveryView[];
}

/** A file of a query or of an answer, without its content. */
export interface TurnFile {
  type: 'file';
  name: string;
  mimeType: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of the content, lower-case hexadecimal. */
  sha256: string;
}

/** What a page says of a text that it shows cut. A handler is given whole texts, without these members. */
export interface CutText {
  /** Present if the text has more than 64 KiB as UTF-8 and only its beginning is shown. */
  truncated?: true;
  /** Bytes of the whole text as UTF-8. */
  size?: number;
  /** SHA-256 of the whole text as UTF-8. `GET {base}/query/{runId}/files/{sha256}` returns the text. */
  sha256?: string;
}

/** A text of an earlier turn. */
export interface TurnText extends CutText {
  type: 'text';
  text: string;
  /**
   * Who wrote the text, if it is older than the query: the caller has sent an earlier conversation along. Absent in texts of the
   * query itself.
   */
  earlier?: 'user' | 'assistant';
}

/** What a turn keeps of an answer. */
export interface TurnAnswer {
  /** The contents of the answer's `message` envelopes, joined; at most the first 1,048,576 characters. */
  text: string;
  /**
   * The answer's envelopes of the standard types except `log` and `progress`, in their order, at most the first 1 MiB of JSON.
   * Neighbouring pieces of one message, or of one piece of reasoning, are one envelope. If a page shows `text` cut, the
   * contents of the messages end where `text` ends.
   */
  envelopes: Envelope[];
  /** Present if the answer has more envelopes than `envelopes`. */
  envelopesTruncated?: true;
}

/** One question and its answer in a session. Times are ISO 8601 in UTC. If `text` is cut, `CutText` describes it. */
export interface Turn extends CutText, TurnAnswer {
  runId: string;
  /** The user's parts; files as name, type, size and digest. */
  parts: (TurnText | TurnFile)[];
  /** How the run ended. */
  end: RunEnd;
  createdAt: string;
  endedAt: string;
}

/** A page of the caller's runs, as `GET {base}/query` returns it. */
export interface RunList {
  /** Newest first. */
  runs: RunView[];
  /** The value of `after` for the next page; null at the end. */
  next: string | null;
}

/** A session, as a list shows it. */
export interface SessionView {
  id: string;
  /** The beginning of the first text of its queries; null if none of them has a text. */
  title: string | null;
  /** The number of its newest turn. */
  turns: number;
  /** When it was last used: the time of its newest query or turn, as ISO 8601 in UTC. */
  updatedAt: string;
  /** The id of the run that executes, or null. */
  active: string | null;
  /** The id of the run that asks, or null. */
  asking: string | null;
}

/** A page of the caller's sessions, as `GET {base}/query/sessions` returns it. */
export interface SessionList {
  /** Last used first. */
  sessions: SessionView[];
  /** The value of `after` for the next page; null at the end. */
  next: string | null;
}

/** A page of a session's turns, as `GET {base}/query/sessions/{session_id}` returns it. */
export interface SessionPage {
  id: string;
  /** The id of the run that executes, or null. */
  active: string | null;
  /** The id of the run that asks, or null. */
  asking: string | null;
  /** How many runs wait in the queue of the session. */
  waiting: number;
  /** Oldest first. */
  turns: Turn[];
  /** The value of `after` for the next page; null at the end. */
  next: number | null;
}

/** A file that was sent before its query, as `POST {base}/query/files` returns it. */
export interface SentFile {
  /** The SHA-256 of the content, lower-case hexadecimal: a file part has it in place of `base64`. */
  sha256: string;
  /** Bytes. */
  size: number;
  name: string;
  mimeType: string;
  /** When it expires if no query uses it: ISO 8601 in UTC. */
  expiresAt: string;
}

/**
 * What the models have used for the caller, added up for one day, one model or one session. A run counts once: on the day of
 * its first usage, and for the model of that. Attempts that became void count too.
 */
export interface UsageSum {
  /** `by=day`: the day in UTC, such as `2026-11-25`. */
  day?: string;
  /** `by=model`: the name of the model; null for usage that names none. */
  model?: string | null;
  /** `by=session`: the session; null for runs without one, and for sessions that are no longer kept. */
  session?: string | null;
  runs: number;
  inputTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  cachedInputTokens: number;
  /** In the unit of the host, to six decimal places. Present if the host has given prices. */
  price?: number;
}

/** A page of what the caller has used, as `GET {base}/query/usage` returns it. */
export interface UsageList {
  /** Last used first. */
  usage: UsageSum[];
  /** The value of `after` for the next page; null at the end. */
  next: string | null;
}

/** One fault in the body of a request. */
export interface FieldError {
  /** A JSON Pointer (RFC 6901) to the faulty value. */
  pointer: string;
  /** What is wrong: the rest of a sentence whose subject is the value. */
  detail: string;
}

/** Members of a problem that only some codes have. */
export interface ErrorExtras {
  /** All faults of the body. */
  errors?: FieldError[];
  /** `limit_exceeded`: the name of the limit. */
  limit?: string;
  /** `limit_exceeded`: the value of the limit, in its own unit (bytes, parts, levels). */
  value?: number;
  /** `limit_exceeded`: the index of the part that exceeded it, if one part did. */
  part?: number;
  /** `cursor_expired`: the number of the first envelope that is still kept. */
  oldest?: number;
  /** `cursor_expired`: the number of the last envelope. */
  latest?: number;
  /** `input_resolved` and `input_expired`: what has become of the requests, without the values of private ones. */
  answers?: ResolvedInput[];
  /** `range_not_satisfiable`: the bytes of the file. */
  size?: number;
  /** Seconds to wait before the next try; sent as `Retry-After`. */
  retryAfter?: number;
  /** The HTTP status of a code of the host, from 400 to 599. A code of the closed list has its own. */
  status?: number;
}

/** The body of every error: RFC 9457 `application/problem+json`. */
export interface Problem extends Omit<ErrorExtras, 'retryAfter' | 'status'> {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode | HostCode;
}
