import type { Observable } from 'rxjs';
import type { Envelope, Turn } from '../contract/wire.js';

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
  /** SHA-256 of the content, lower-case hexadecimal. */
  sha256: string;
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

/** What a handler is told about the run that it executes. */
export interface QueryContext {
  runId: string;
  /** The caller's principal; `anonymous` where the host has no authentication. */
  owner: string;
  /** The conversation that `kwargs.session_id` names; undefined where the query names none. */
  session:
    | {
        id: string;
        /** Earlier turns, oldest first: the newest 100 unless the options say otherwise. */
        turns: Turn[];
        /**
         * Opens a file of one of these turns, by the digest that the turn tells. It can be read until the run has ended.
         *
         * @throws {QueryError} `not_found`: no turn has it, or it is no longer kept · `unavailable`
         */
        file(sha256: string): Promise<File>;
      }
    | undefined;
  /** Raised when the run is to stop: it was cancelled, is out of time, or the service is going down. */
  signal: AbortSignal;
}

/** What a handler may answer with. An async iterable is pulled, and so can be held back when readers are slow. */
export type HandlerAnswer = Observable<Envelope> | AsyncIterable<Envelope>;

/** A handler that is just a function: `async function* (query, context) {…}`. */
export type HandlerFunction = (query: Query, context: QueryContext) => HandlerAnswer | Promise<HandlerAnswer>;

/**
 * Answers one query as a stream of envelopes. This is the port that users implement.
 *
 * The run completes when the stream does. If the stream throws, the run fails with the code `handler_failed`; the
 * caller is not told the exception's text, unless it is a `QueryError`, whose code and sentence are meant for it. Once
 * `context.signal` is raised, whatever is emitted is dropped.
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
