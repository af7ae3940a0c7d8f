import { Buffer } from 'node:buffer';
import { createHash, randomUUID } from 'node:crypto';
import type { TurnFile, TurnText } from 'nest-agent-query-client';
import { QueryError } from '../contract/errors.js';
import { sessionsUnchangeable } from '../contract/refusals.js';
import { refuseUnknown } from '../contract/unknown-members.js';
import type { CallerRequest } from '../options/query.options.js';
import { writeJson } from '../platform/write-json.js';
import type { Query } from '../ports/agent-handler.js';
import type { RunStore } from '../ports/run-store.js';
import { type EarlierText, partsOf } from './earlier-texts.js';

/** The owner of everything if the host has no authentication. */
export const ANONYMOUS = 'anonymous';

/** How a query is admitted. */
export interface QueryOptions {
  /** The owner of the run. Default `anonymous`. */
  owner?: string;
  /** A repeated query with the same key finds the run that the first query started. Default: none. */
  idempotencyKey?: string | undefined;
  /**
   * The query replaces the turns of its session after this number, from 0. It is refused while a run of the session has not ended.
   * Default: it follows the last turn.
   */
  afterTurn?: number | undefined;
  /**
   * The query is admitted only if the newest turn of its session is of this run, and none of its runs is unfinished:
   * otherwise `session_busy`. Default: it follows whatever the session has.
   */
  afterRun?: string | undefined;
  /**
   * The query takes the place of this run of its session: of its turn and those after it. A run that has not ended is cancelled when
   * the query is admitted, and gets no turn. Refused with `session_busy` while another run of the session has not ended. Default:
   * it follows the last turn.
   */
  replaces?: string | undefined;
  /**
   * The session of the query begins with the first `afterTurn` turns of another one, if the owner has none of its name yet; made
   * when the query is admitted. Refused with `not_found` if there is no other session, and with `invalid_query` if it has fewer
   * turns. Default: a new session begins without turns.
   */
  fork?: { session: string; afterTurn: number } | undefined;
  /**
   * The conversation before the query, which the caller has sent along, oldest first. In `QueryContext.history` it follows the turns
   * that the session has already, in this run and in later ones. Default: none.
   */
  earlier?: readonly EarlierText[] | undefined;
  /** The run continues when nobody follows it, whatever the disconnect policy is. Default false. */
  detached?: boolean;
  /** The request that submits the query, for the option `admit` and the trace. Default: none, the host submits it itself. */
  request?: CallerRequest;
  /**
   * The path of the endpoint as the caller has used it, such as `/api/query`: the files of the answer are under it. Default: that
   * of the module, without a global prefix of the host.
   */
  path?: string | undefined;
  /** Sentences about the query, which the log of a new run has at its beginning. Default: none. */
  notices?: readonly string[];
  /** Called once, when the run no longer needs the files of the query, or is not admitted. */
  release?: () => void;
}

const QUERY_OPTIONS: Record<keyof QueryOptions, true> = {
  owner: true,
  idempotencyKey: true,
  afterTurn: true,
  afterRun: true,
  replaces: true,
  fork: true,
  earlier: true,
  detached: true,
  request: true,
  path: true,
  notices: true,
  release: true,
};

/** Copied, because V8 would keep the result of `randomUUID` as a tree of its pieces. */
export function newRunId(): string {
  return Buffer.from(randomUUID()).toString('latin1');
}

/** The session of a query; undefined if it names none. */
export function sessionIdOf({ kwargs }: Query): string | undefined {
  const sessionId = kwargs['session_id'];
  return typeof sessionId === 'string' && sessionId !== '' ? sessionId : undefined;
}

/** The parts of a query as a store keeps them, after the earlier texts: files as name, type, size and digest. */
export function storedParts(query: Query, earlier?: readonly EarlierText[]): (TurnText | TurnFile)[] {
  const parts = query.parts.map((part): TurnText | TurnFile => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    const { name, mimeType, sha256, file } = part;
    return { type: 'file', name, mimeType, size: file.size, sha256 };
  });
  return earlier ? [...partsOf(earlier), ...parts] : parts;
}

/** The metadata of a query; undefined if there is none. */
export function metadataOf({ metadata = {} }: Query): Query['metadata'] {
  return Object.keys(metadata).length > 0 ? metadata : undefined;
}

/**
 * The SHA-256 of a query, of the earlier texts, and of the turns that it replaces. The order of members and the white space of
 * the JSON make no difference.
 */
export async function queryDigest(
  query: Query,
  afterTurn?: number,
  earlier?: readonly EarlierText[],
): Promise<string> {
  const hash = createHash('sha256');
  const metadata = metadataOf(query);
  const all = [
    ...[storedParts(query, earlier), query.kwargs],
    ...(metadata ? [metadata] : []),
    ...(afterTurn === undefined ? [] : [afterTurn]),
  ];
  await writeJson(all, (piece) => hash.update(piece), true);
  return hash.digest('hex');
}

/** What the bytes of files show that their callers have not declared: sentences for the log. */
export function mismatchesOf({ parts }: Query): string[] {
  return parts.flatMap((part) =>
    part.type === 'file' && part.detectedMimeType !== undefined
      ? [`"${part.name}" is declared as ${part.mimeType}, but its bytes are ${part.detectedMimeType}.`]
      : [],
  );
}

/**
 * @throws {TypeError} an option is unknown · {QueryError} `invalid_query`: the query changes a session, but names none; or the
 * store cannot change sessions
 */
export function checkOptions(
  sessionId: string | undefined,
  { changesSessions }: RunStore,
  options: QueryOptions,
): void {
  refuseUnknown('AgentService.query', options, QUERY_OPTIONS);
  const { afterTurn, replaces, fork } = options;
  if ((afterTurn ?? replaces ?? fork) === undefined) return;
  if (sessionId === undefined)
    throw new QueryError('invalid_query', 'Session-After needs a session: name it in kwargs.session_id.');
  if (!changesSessions) throw sessionsUnchangeable();
}
