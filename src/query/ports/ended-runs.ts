import type { Awaitable } from './file-store.js';
import type { EndedRuns, EndedRunsPage, ListPosition, RunRecord } from './run-record.js';

/**
 * The page of a list of runs that have ended, those that ended last first. Of runs that ended in the same millisecond, those with
 * the greater ids come first.
 *
 * @param runs all that may be on this page or on a later one, in any order; also others
 * @returns the page, whether more runs follow it, and how many of the runs are on all pages
 *
 * @example
 * const { runs, hasMore } = pageOfEnded(await allRunsOf(owner), { since: -Infinity, after: undefined, limit: 50 });
 */
export function pageOfEnded(
  runs: RunRecord[],
  { sessionId, status, since, after, limit }: EndedRunsPage,
): EndedRuns {
  const listed = runs.filter(
    (run) =>
      run.endedAt !== undefined &&
      run.endedAt >= since &&
      (sessionId === undefined || run.sessionId === sessionId) &&
      (status === undefined || run.status === status),
  );
  listed.sort((one, other) => (isBehind(placeOf(one), placeOf(other)) ? 1 : -1));
  const rest = after === undefined ? listed : listed.filter((run) => isBehind(placeOf(run), after));
  return { runs: rest.slice(0, limit), hasMore: rest.length > limit, total: listed.length };
}

/** The page of a list of runs that have ended. @param read reads a page of all runs of the owner: all pages are read */
export async function endedAmongAll(
  read: (after: ListPosition | undefined) => Awaitable<{ runs: RunRecord[]; next: ListPosition | undefined }>,
  page: EndedRunsPage,
): Promise<EndedRuns> {
  const all: RunRecord[] = [];
  for (let after: ListPosition | undefined; ;) {
    const { runs, next } = await read(after);
    all.push(...runs);
    if (next === undefined) return pageOfEnded(all, page);
    after = next;
  }
}

function placeOf({ endedAt, id }: RunRecord): ListPosition {
  return { at: endedAt!, key: id };
}

function isBehind(one: ListPosition, other: ListPosition): boolean {
  return one.at < other.at || (one.at === other.at && one.key < other.key);
}
