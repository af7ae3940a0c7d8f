import type { Type } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { Envelope, InputRequest, ResolvedInput, Turn } from 'nest-agent-query-client';

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
  /** The type that the caller declares: `type/subtype`, with optional parameters. */
  mimeType: string;
  /** The type of the bytes, if it clearly differs from `mimeType`; otherwise absent. */
  detectedMimeType?: string;
  /** SHA-256 of the content, lower-case hexadecimal. */
  sha256: string;
  /** The content. It can be read any number of times until the run has ended. */
  file: File;
}

/** One part of the user's message. */
export type QueryPart = TextPart | FilePart;

/** A query: its parts in the order of the request, and what else the caller sent. `K` is the class of the option `kwargs`, if there is one. */
export interface Query<K extends object = Record<string, unknown>> {
  parts: QueryPart[];
  /** Every key that the caller sent, unchanged; an empty object if it sent none. With the option `kwargs`, an instance. */
  kwargs: K;
  /**
   * What the caller says about the query: up to 16 keys of 1 to 64 characters, with values of up to 512. Runs and their lists have
   * it. It is not for the model: adapters do not pass it on. Absent or empty if there is none.
   */
  metadata?: Readonly<Record<string, string>>;
}

/** The run that a handler executes. */
export interface QueryContext {
  runId: string;
  /** The owner of the run; `anonymous` without authentication. */
  owner: string;
  /**
   * The trace of the run, for services that the handler calls: its `traceparent` and, after a space, its `tracestate` (W3C
   * Trace Context). Absent if there is none.
   */
  trace?: string | undefined;
  /** The session that `kwargs.session_id` names; undefined if the query names none. */
  session:
    | {
        id: string;
        /** How many turns the session has that are older than those of `history`. */
        olderTurns: number;
        /**
         * Opens a file of one of the turns of `history`, of its query or of its answer. It can be read until the run has ended.
         *
         * @param sha256 the digest of the file, as the turn has it
         * @throws {QueryError} `not_found`: no turn has the file, or it is no longer kept · `unavailable`
         */
        file(sha256: string): Promise<File>;
      }
    | undefined;
  /**
   * The earlier turns of the session, oldest first: the newest ones, as many as `sessionTurns` says (default 100), within 8 Mi
   * characters of JSON. Each conversation that a host has sent with a query (`QueryOptions.earlier`) stands before that query, also
   * without a session and beyond these limits. Empty if there is neither.
   */
  history: Turn[];
  /**
   * Aborted when the run must stop: it was cancelled or timed out, or the service shuts down. If the run goes on in another
   * attempt, the `name` of the reason is `HandedOver`: leave alone what that attempt needs.
   */
  signal: AbortSignal;
  /**
   * Undefined in the first attempt. If the process of an earlier attempt was lost or stopped: `attempt` is the number of this
   * one, from 2, and `state` that of the last checkpoint, undefined if there is none. The caller keeps what was emitted before
   * that checkpoint; the rest is void.
   */
  resumed: { attempt: number; state: unknown } | undefined;
  /**
   * Stores a state, together with everything that was emitted before, and resolves when it is stored. The next attempt of this
   * run begins with it, if the handler has `restarts`.
   *
   * @param state any value that JSON can represent, at most 1 Mi characters of JSON
   * @throws {TypeError} JSON cannot represent the state · {RangeError} it is too long · {QueryError} `interrupted`: this
   * process does not own the run any more, and the handler should stop
   */
  checkpoint(state: unknown): Promise<void>;
  /**
   * Asks a person, or the code of the caller, and resolves with the answers in the order of the questions. Until then the run
   * has the status `input_required`: it has no slot, no time limit, and nobody need follow it.
   *
   * A handler with `restarts`, or one that gives a `checkpoint`, survives its process: it is called again later, in any process,
   * with `resumed`; what it asked before is answered at once, by the keys. Any other handler waits in memory for at most
   * `runs.askInMemoryMs`, and its run ends as `interrupted` if its process ends.
   *
   * @param questions 1 to 64. A key that the run has asked before has its recorded answer
   * @param options `checkpoint`: the state with which the handler is called again; see `checkpoint`. Without one, the next
   * attempt begins with the last checkpoint, and what was emitted since is void
   * @returns the outcomes. Only `answered`, and `expired` with a value in `onExpire`, have a `value`
   * @throws {TypeError} a question is not valid, or the store cannot keep it · {RangeError} a question or the state is too long ·
   * {QueryError} `rate_limited`: too many runs of the owner ask · the reason of `signal`: the run has ended, or goes on in
   * another attempt. Leave it, the handler should stop
   *
   * @example
   * const refund = { customer: 881, amount: 120 };
   * const [answer] = await context.ask([
   *   { key: 'refund-881', kind: 'approval', message: 'Refund 120 EUR?', name: 'refund', arguments: refund },
   * ]);
   * if (isApproved(answer)) await refunds.make(refund);
   */
  ask(questions: Question[], options?: { checkpoint?: unknown }): Promise<ResolvedInput[]>;
}

/** A question of a handler. The members that are not described here are those of `InputRequest`. */
export interface Question extends Pick<
  InputRequest,
  'kind' | 'message' | 'toolCallId' | 'name' | 'arguments' | 'schema' | 'url'
> {
  /**
   * Names the question within the run, and is the id of the request: 1 to 200 characters without control characters. A handler
   * that is called again must use the same key for the same question, so that it is not asked twice.
   */
  key: string;
  editable?: boolean;
  private?: boolean;
  hold?: boolean;
  /** After how many milliseconds the request expires: from 1 to 2,592,000,000 (30 days). Default 86,400,000 (24 h). */
  expiresInMs?: number;
  /** Default `decline`. */
  onExpire?: InputRequest['onExpire'];
}

/** The members of a question. */
export const QUESTION_MEMBERS: Record<keyof Question, true> = {
  key: true,
  kind: true,
  message: true,
  toolCallId: true,
  name: true,
  arguments: true,
  schema: true,
  url: true,
  editable: true,
  private: true,
  hold: true,
  expiresInMs: true,
  onExpire: true,
};

/**
 * Whether the answer to an `approval` allows the call. An outcome other than `answered` does not.
 *
 * @example
 * const [answer] = await context.ask([question]);
 * if (!isApproved(answer)) return;
 */
export function isApproved(answer: ResolvedInput | undefined): boolean {
  return (answer?.value as { approved?: unknown } | undefined)?.approved === true;
}

/** The answer of a handler. An async iterable is held back while readers are slow; an Observable cannot be. */
export type HandlerAnswer = Observable<Envelope> | AsyncIterable<Envelope>;

/** Names a session: an id belongs to its owner. */
export interface SessionRef {
  owner: string;
  id: string;
  /** Of `sessionErased`: true if the session goes on, because a query has replaced turns of it. Absent if all of it is erased. */
  goesOn?: boolean;
}

/**
 * A handler that is a function: `async function* (query, context) {…}`. It may have the properties `restarts` and
 * `sessionErased`.
 */
export type HandlerFunction<K extends object = Record<string, unknown>> = ((
  query: Query<K>,
  context: QueryContext,
) => HandlerAnswer | Promise<HandlerAnswer>) & {
  readonly restarts?: number;
  readonly sessionErased?: (session: SessionRef) => void | Promise<void>;
};

/** A function as the other handlers are. */
export function handlerOfFunction(handler: HandlerFunction): AgentHandler {
  const { restarts, sessionErased } = handler;
  return {
    handle: handler,
    ...(restarts !== undefined && { restarts }),
    ...(sessionErased && { sessionErased }),
  };
}

/**
 * Whether a handler is a class. The source text is tested, because a class may have `handle` as a property, which its prototype
 * does not show.
 */
export function isHandlerClass(handler: unknown): handler is Type<AgentHandler> {
  return typeof handler === 'function' && /^class\b/.test(Function.prototype.toString.call(handler));
}

/**
 * Answers one query as a stream of envelopes. This is the port that users implement.
 *
 * The run completes when the stream does. If the stream throws a `QueryError`, the run fails with its code and sentence. If it
 * throws anything else, the run fails with `handler_failed`, and the caller does not see the text of the exception. Envelopes
 * that are emitted after `context.signal` was aborted are dropped.
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
export abstract class AgentHandler<K extends object = Record<string, unknown>> {
  /**
   * How often a run may be executed again when its process was lost or stopped before the run had ended: by another process, or
   * after the restart of the service. From 0 to 1,000; default 0. See `QueryContext.resumed` and `QueryContext.checkpoint`.
   */
  readonly restarts?: number;

  /**
   * @param query the caller's query
   * @param context the run, its session and the signal that asks the handler to stop
   */
  abstract handle(query: Query<K>, context: QueryContext): HandlerAnswer | Promise<HandlerAnswer>;

  /**
   * Called after a caller has erased a session, or turns of it by a query that replaces them, in the process that has received the
   * request: a handler that keeps a memory of its own erases it here, and begins again with `context.history`. The caller gets its
   * answer when this has ended; until then, this process does not start the run of the query. What this throws is logged, and what
   * was erased stays erased. Not called for sessions that are dropped because of their age. A request-scoped handler has it as a
   * static method.
   */
  sessionErased?(session: SessionRef): void | Promise<void>;
}
