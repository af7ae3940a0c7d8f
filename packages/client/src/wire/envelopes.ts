import type { InputRequest, ResolvedInput } from './inputs.js';
import type { RunEnd } from './runs.js';

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

/** What a call changes in a file. */
export interface FileDiff {
  path: string;
  /** null: the file is new. */
  oldText: string | null;
  newText: string;
  /** Whether one of the texts is cut. */
  truncated?: boolean;
}

/** A place in a file. `line` is from 1. */
export interface FileLocation {
  path: string;
  line?: number;
}

/** The files that a call is about. The service does not check these members: they are as the agent gives them. */
export interface CallFiles {
  diffs?: FileDiff[];
  locations?: FileLocation[];
}

/**
 * The agent calls a tool. `arguments` is any value that JSON can represent. Coding agents also have a `title` for people, and a
 * `kind`, such as `edit` or `execute`; the service does not check these two.
 */
export interface ToolCallEnvelope extends Envelope {
  type: 'tool_call';
  data: { id: string; name: string; arguments: unknown; title?: string; kind?: string } & CallFiles;
}

/** What a tool has returned. `id` is that of the call; `content` is any value that JSON can represent. */
export interface ToolResultEnvelope extends Envelope {
  type: 'tool_result';
  data: { id: string; content: unknown; isError?: boolean } & CallFiles;
}

/** What the agent plans to do. */
export interface PlanEntry {
  content: string;
  /** `pending`, `in_progress` or `completed`. */
  status: string;
  /** `high`, `medium` or `low`. */
  priority?: string;
}

/** The whole plan of the agent, as it is now. The service does not check the data: it is as the agent gives it. */
export interface PlanEnvelope extends Envelope {
  type: 'plan';
  data: { entries: PlanEntry[] };
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
