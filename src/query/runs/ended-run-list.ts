import type { RunEnd, RunView } from 'nest-agent-query-client';
import { refuseUnknown } from '../contract/unknown-members.js';
import type { ListPosition, RunStore } from '../ports/run-store.js';
import { PAGE_ENTRIES } from './lists.js';
import { viewOf } from './run-view.js';

/** Which runs that have ended, and which page of them. */
export interface EndedRunListOptions {
  /** Only runs of this session. Default: all. */
  session?: string | undefined;
  /** Only runs that have ended so. Default: all. */
  status?: RunEnd['status'] | undefined;
  /** Only runs that ended then or later. Default: all. */
  since?: Date | undefined;
  /** How many runs the page has at most, from 1. Default 50. */
  limit?: number | undefined;
  /** The last run of the page before; or any other time and id at which the page begins. Default: the first page. */
  after?: Pick<RunView, 'id' | 'endedAt'> | undefined;
}

/** A page of runs that have ended. */
export interface EndedRunList {
  /** Those that ended last first. */
  runs: RunView[];
  /** Whether more follow. */
  hasMore: boolean;
  /** How many there are on all pages. */
  total: number;
}

const OPTIONS: Record<keyof EndedRunListOptions, true> = {
  session: true,
  status: true,
  since: true,
  limit: true,
  after: true,
};

/** What `AgentService.endedRuns` does, for an owner as the store knows it. */
export async function endedRunList(
  store: RunStore,
  owner: string,
  options: EndedRunListOptions,
): Promise<EndedRunList> {
  refuseUnknown('AgentService.endedRuns', options, OPTIONS);
  const { session: sessionId, status, since, limit = PAGE_ENTRIES, after } = options;
  if (Number.isNaN(since?.getTime()))
    throw new TypeError('AgentService.endedRuns: since must be a valid date.');
  const { runs, ...rest } = await store.endedRuns(owner, {
    ...{ sessionId, status, limit },
    since: since?.getTime() ?? -Infinity,
    after: after && positionOf(after),
  });
  return { runs: runs.map(viewOf), ...rest };
}

function positionOf({ id, endedAt }: Pick<RunView, 'id' | 'endedAt'>): ListPosition {
  const at = Date.parse(endedAt ?? '');
  if (Number.isNaN(at)) throw new TypeError('AgentService.endedRuns: after must be a run that has ended.');
  return { at, key: id };
}
