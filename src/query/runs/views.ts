import { Buffer } from 'node:buffer';
import type { RunStatus, RunView, SessionPage, SessionView, Turn } from 'nest-agent-query-client';
import { QueryError } from '../contract/errors.js';
import { cursorText, positionOf } from '../contract/list-page.js';
import type { Metadata } from '../contract/metadata.js';
import { fileNotFound, invalidParameters, runNotFound, sessionNotFound } from '../contract/refusals.js';
import { Follower } from '../event-log/follower.js';
import type { FollowedRun } from '../event-log/run-stream.js';
import type { Files } from '../files/files.js';
import { type Awaitable, bytesIn, type ByteRange } from '../ports/file-store.js';
import type { ListPage, ListPosition, RunRecord, RunStore, SessionRecord } from '../ports/run-store.js';
import { MAX_TURNS_LENGTH } from './query-context.js';
import type { RunnerServices } from './runner-services.js';

/** How many entries a page has unless the caller asks for another number. */
export const PAGE_ENTRIES = 50;

/** Which page of a list. */
export interface ListOptions {
  /** How many entries the page has at most. Default 50. */
  limit?: number | undefined;
  /** `next` of the page before. Default: the first page. */
  after?: string | undefined;
}

/** Which runs, and which page of them. */
export interface RunListOptions extends ListOptions {
  /** Only runs of this session. Default: all. */
  session?: string | undefined;
  /** Only runs with this status. Default: all. */
  status?: RunStatus | undefined;
  /** Only runs that have all these entries in their metadata. Default: all. */
  metadata?: Metadata | undefined;
}

/** The members of each, for `refuseUnknown`. */
export const LIST_OPTIONS: Record<keyof ListOptions, true> = { limit: true, after: true };
export const RUN_LIST_OPTIONS: Record<keyof RunListOptions, true> = {
  ...LIST_OPTIONS,
  session: true,
  status: true,
  metadata: true,
};

/** A file that a caller downloads: one of a query, one of an answer, or a text that a page of a session shows cut. */
export interface DownloadedFile {
  name: string;
  mimeType: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of the content, lower-case hexadecimal. */
  sha256: string;
  /** The content is in memory until it is read. Default false. */
  isHeld?: true;
  /**
   * Reads the content.
   *
   * @param range the numbers of the first and the last byte, from 0. Default: all
   * @returns the bytes in order; undefined if the content is no longer kept
   * @throws {QueryError} `unavailable`
   */
  read(range?: ByteRange): Awaitable<AsyncIterable<Uint8Array> | undefined>;
}

/** The present load of a process. */
export interface Load {
  /** Runs whose handler was called. */
  running: number;
  /** Runs in the queue of their session, or without a slot. */
  waiting: number;
  /** Runs that ask, and whose handler waits for the answers in this process. */
  asking: number;
  /** Followers of all runs. */
  followers: number;
  /** Handlers that have missed their stop deadline and still execute. */
  overdue: number;
}

/** What a process has done since its start. These numbers only grow. */
export interface Totals {
  /** Envelopes that handlers have emitted, also of runs that have not ended. */
  envelopes: number;
  /** The characters of JSON of these envelopes. */
  length: number;
  /** Files that callers have sent, with queries or before them, also those of queries that were refused afterwards. */
  files: number;
  /** The bytes of these files, decoded. */
  fileBytes: number;
}

/** What the spool of a process has at present. */
export interface SpoolUse {
  /** How many temporary files of queries there are. */
  files: number;
  /** The bytes of these files. */
  bytes: number;
}

export function viewOf(record: RunRecord): RunView {
  return {
    id: record.id,
    status: record.status,
    session: record.sessionId ?? null,
    createdAt: timeText(record.createdAt),
    startedAt: record.startedAt === undefined ? null : timeText(record.startedAt),
    endedAt: record.endedAt === undefined ? null : timeText(record.endedAt),
    events: record.lastSeq,
    ...(record.metadata && { metadata: record.metadata }),
    ...(record.end?.status === 'failed' && { error: record.end.error }),
  };
}

/** @throws {QueryError} `not_found` · `unavailable` */
export async function existingRun(store: RunStore, owner: string, runId: string): Promise<RunRecord> {
  const found = await store.find(owner, runId);
  if (!found) throw runNotFound();
  return found;
}

/** The parts of the query of a run; undefined if they are no longer kept. @throws {QueryError} `unavailable` */
export async function partsOf(store: RunStore, run: RunRecord): Promise<Turn['parts'] | undefined> {
  if (run.endedAt === undefined) {
    try {
      return await store.parts(run);
    } catch (error) {
      // It has ended meanwhile.
      if (!(error instanceof QueryError) || error.code !== 'not_found') throw error;
    }
  }
  if (run.sessionId === undefined) return undefined;
  return (await store.turn(run.owner, run.sessionId, run.id))?.turn.parts;
}

/** Follows a run after a cursor that its log has. */
export function follow({ groups, store }: RunnerServices, run: RunRecord, cursor: number): FollowedRun {
  return {
    run: viewOf(run),
    read: (after) => store.read(run, after),
    follow: (sink) => {
      const group = groups.of(run);
      if (run.endedAt !== undefined) group.end();
      return new Follower(cursor, sink, group);
    },
  };
}

/**
 * Follows a run after any cursor. Reads once before the stream begins, so that a cursor that has expired is refused with a status.
 *
 * @throws {QueryError} `invalid_query`: the cursor is greater than the newest number · `cursor_expired` · `unavailable`
 */
export async function followAfter(
  services: RunnerServices,
  run: RunRecord,
  cursor: number,
): Promise<FollowedRun> {
  await checkCursor(services, run, cursor);
  return follow(services, run, cursor);
}

/** @throws {QueryError} `invalid_query`: the cursor is greater than the newest number · `cursor_expired` · `unavailable` */
export async function checkCursor({ store }: RunnerServices, run: RunRecord, cursor: number): Promise<void> {
  if (cursor > run.lastSeq) {
    const detail = `The cursor ${cursor} is greater than the number of the newest envelope, which is ${run.lastSeq}.`;
    throw new QueryError('invalid_query', detail);
  }
  await store.read(run, cursor);
}

export function sessionViewOf({ id, title, turns, usedAt, active, asking }: SessionRecord): SessionView {
  return {
    id,
    title: title ?? null,
    turns,
    updatedAt: timeText(usedAt),
    active: active ?? null,
    asking: asking ?? null,
  };
}

/** @throws {QueryError} `invalid_query`: `after` is not the `next` of a page */
export function listPageOf({ limit = PAGE_ENTRIES, after }: ListOptions): ListPage {
  const position = after === undefined ? undefined : positionOf(after);
  if (after !== undefined && position === undefined) {
    throw invalidParameters([{ pointer: '/after', detail: 'must be "next" of the page before' }]);
  }
  return { after: position, limit, maxLength: MAX_TURNS_LENGTH };
}

export function nextOf(position: ListPosition | undefined): string | null {
  return position === undefined ? null : cursorText(position);
}

export async function sessionPage(
  store: RunStore,
  owner: string,
  id: string,
  after: number,
  limit: number,
): Promise<SessionPage> {
  // First, so that a run that ends meanwhile is here, in the turns, or in both.
  const queue = await store.queue(owner, id);
  const page = await store.turns(owner, id, { after, limit, maxLength: MAX_TURNS_LENGTH, cutTexts: true });
  if (!page) throw sessionNotFound();
  return {
    id,
    active: queue.find(({ status }) => status === 'running')?.id ?? null,
    asking: queue.find(({ status }) => status === 'input_required')?.id ?? null,
    waiting: queue.filter(({ status }) => status === 'waiting').length,
    turns: page.turns,
    next: page.last < page.total ? page.last : null,
  };
}

/**
 * Finds a file or a long text of a run. A file that is just being kept is waited for.
 *
 * @throws {QueryError} `not_found` · `unavailable`
 */
export async function downloadOf(
  store: RunStore,
  files: Files,
  owner: string,
  runId: string,
  sha256: string,
): Promise<DownloadedFile> {
  const part = await store.part(owner, runId, sha256);
  if (!part) throw fileNotFound();
  if (part.type === 'file') {
    const { name, mimeType, size } = part;
    await files.settled(runId);
    return { name, mimeType, size, sha256, read: (range) => files.read(runId, sha256, range) };
  }
  const bytes = Buffer.from(part.text);
  return {
    name: 'text.txt',
    mimeType: 'text/plain; charset=utf-8',
    size: bytes.length,
    sha256,
    isHeld: true,
    read: (range) => bytesIn(bytes, range),
  };
}

export function timeText(at: number): string {
  return new Date(at).toISOString();
}
