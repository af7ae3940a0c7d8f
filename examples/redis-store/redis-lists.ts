import type { Redis } from 'ioredis';
import type { ListPage, RunsPage, Turn, TurnsPage } from 'nest-agent-query';
import { pageFrom, shownTurn } from 'nest-agent-query/store-rules';
import { entryOf, readRun, type StoredRun, type StoredSession, type StoredTurn } from './stored-run.js';

const SLICE_LENGTH = 64 * 1024;
const BATCH = 50;

/** The entries of a log after an envelope: about 64 KiB, but at least one if there is one. */
export async function entriesOf(redis: Redis, runId: string, after: number, last: number) {
  const entries: ReturnType<typeof entryOf>[] = [];
  for (let length = 0; length < SLICE_LENGTH && after + entries.length < last;) {
    const from = after + entries.length + 1;
    const found = await redis.zrangebyscore(`log:${runId}`, from, Math.min(from + BATCH - 1, last));
    if (found.length === 0) break;
    for (const entry of found.map(entryOf)) {
      if (length >= SLICE_LENGTH) break;
      length += entry.text.length;
      entries.push(entry);
    }
  }
  return entries;
}

/** A page of the runs of an owner, newest first. */
export async function runsPage(redis: Redis, owner: string, page: RunsPage) {
  const { sessionId, status } = page;
  const isListed = (run: StoredRun) =>
    (sessionId === undefined || run.sessionId === sessionId) &&
    (status === undefined || run.status === status);
  const found = await newest(
    redis,
    `runs:${JSON.stringify(owner)}`,
    page,
    (id) => `run:${id}`,
    (text) => {
      const run = readRun(text);
      return isListed(run) ? run : undefined;
    },
  );
  const lengthOf = (run: StoredRun) => 256 + (run.sessionId?.length ?? 0);
  return pageFrom(found, page, lengthOf, ({ number }) => ({ at: number, key: '' }));
}

/** A page of the sessions of an owner, last used first. */
export async function sessionsPage(redis: Redis, owner: string, page: ListPage) {
  const read = (text: string) => JSON.parse(text) as StoredSession;
  const found = await newest(
    redis,
    `sessions:${JSON.stringify(owner)}`,
    page,
    (key) => `session:${key}`,
    read,
  );
  return pageFrom(
    found,
    page,
    ({ id }) => 256 + id.length,
    ({ used }) => ({ at: used, key: '' }),
  );
}

/** What a page needs of a sorted set: one more than its entries, from its beginning. */
async function newest<T>(
  redis: Redis,
  set: string,
  { after, limit }: ListPage,
  keyOf: (member: string) => string,
  read: (text: string) => T | undefined,
): Promise<T[]> {
  const found: T[] = [];
  const before = after === undefined ? '+inf' : `(${after.at}`;
  for (let offset = 0; found.length <= limit; offset += BATCH) {
    const members = await redis.zrevrangebyscore(set, before, '-inf', 'LIMIT', offset, BATCH);
    if (members.length === 0) break;
    for (const text of await redis.mget(members.map(keyOf))) {
      const value = text === null ? undefined : read(text);
      if (value !== undefined) found.push(value);
    }
  }
  return found;
}

/** A page of the turns of a session. `total` is the number of the newest. */
export async function turnsPage(redis: Redis, key: string, total: number, page: TurnsPage) {
  const { after, limit, maxLength = Infinity, cutTexts = false } = page;
  const first = after ?? Math.max(0, total - limit);
  const ids = await redis.zrangebyscore(`turns:${key}`, first + 1, first + limit);
  const texts = ids.length === 0 ? [] : await redis.mget(ids.map((id) => `turn:${id}`));
  const turns = texts.map((text) => {
    const { owner: _owner, files: _files, ...turn } = JSON.parse(text!) as StoredTurn;
    return cutTexts ? shownTurn(turn).shown : turn;
  });
  // The contents of messages are the text of the answer. They count with it, and once more in a page that shows them.
  const lengthOf = (turn: Turn) => JSON.stringify(turn).length - (cutTexts ? 0 : turn.text.length);
  const ordered = after === undefined ? turns.reverse() : turns;
  let length = 0;
  const tooLong = ordered.findIndex((turn, index) => (length += lengthOf(turn)) > maxLength && index > 0);
  const fitting = tooLong < 0 ? ordered : ordered.slice(0, tooLong);
  if (after === undefined) return { turns: fitting.reverse(), last: total, total };
  return { turns: fitting, last: fitting.length === 0 ? total : after + fitting.length, total };
}
