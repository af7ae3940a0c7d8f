import type { Observable } from 'rxjs';
import type { Envelope, RunEnd } from '../wire.js';

/** A text of the user's message. */
export interface TextPart {
  type: 'text';
  text: string;
}

/** A file of the user's message. */
export interface FilePart {
  type: 'file';
  /** The caller's label for the file, with extension. Never a path. */
  name: string;
  /** What the caller says that the file is: `type/subtype`, with parameters if it sent any. */
  mimeType: string;
  /** What the bytes are, where their beginning tells it and it differs from `mimeType`; otherwise absent. */
  detectedMimeType?: string;
  /** The content. It can be read more than once until the run has ended. */
  file: File;
}

/** One part of the user's message. */
export type QueryPart = TextPart | FilePart;

/** What a caller asks: its parts in the order of the request, and its metadata. */
export interface Query {
  parts: QueryPart[];
  /** Every key that the caller sent, unchanged; an empty object where it sent none. */
  kwargs: Record<string, unknown>;
}

/** A file of an earlier turn: what is kept of it. */
export interface TurnFile {
  type: 'file';
  name: string;
  mimeType: string;
  /** Bytes. */
  size: number;
  /** Lower-case hexadecimal SHA-256 of the content. */
  sha256: string;
}

/** One question and its answer in a session. */
export interface Turn {
  runId: string;
  /** The user's parts; of a file its name, type, size and digest. */
  parts: (TextPart | TurnFile)[];
  /** The contents of the answer's `message` envelopes, joined. */
  text: string;
  end: RunEnd;
  /** When the query was admitted, ISO 8601. */
  createdAt: string;
  /** When the run ended, ISO 8601. */
  endedAt: string;
}

/** What a handler is told about the run that it executes. */
export interface QueryContext {
  runId: string;
  /** The caller's principal; `anonymous` where the host has no authentication. */
  owner: string;
  /** The conversation that `kwargs.session_id` names; undefined where the query names none. */
  session: { id: string; /** Earlier turns, oldest first. */ turns: Turn[] } | undefined;
  /** Raised when the run is to stop: cancelled, out of time, or the service is going down. */
  signal: AbortSignal;
}

/** What a handler may answer with. An async iterable is pulled, and so can be held back when readers are slow. */
export type HandlerAnswer = Observable<Envelope> | AsyncIterable<Envelope> | Iterable<Envelope>;

/**
 * Answers one query as a stream of envelopes. This is the port that users implement.
 *
 * The run completes when the stream does. If the stream throws, the run fails with the code `handler_failed`; the
 * caller is not told the exception's text. Once `context.signal` is raised, whatever is emitted is dropped.
 *
 * @example
 * @Injectable()
 * class EchoHandler extends AgentHandler {
 *   async *handle(query: Query, context: QueryContext) {
 *     for (const part of query.parts) {
 *       if (part.type === 'text') yield message(part.text);
 *       else yield log(`${part.name}: ${part.file.size} bytes`);
 *     }
 *   }
 * }
 */
export abstract class AgentHandler {
  /**
   * @param query what the caller asks
   * @param context the run, its session and the signal that ends it
   */
  abstract handle(query: Query, context: QueryContext): HandlerAnswer | Promise<HandlerAnswer>;
}
