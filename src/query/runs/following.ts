import type { RunView } from 'nest-agent-query-client';
import { QueryError } from '../contract/errors.js';
import { Follower } from '../event-log/follower.js';
import type { FollowedRun } from '../event-log/run-stream.js';
import type { RunRecord } from '../ports/run-store.js';
import type { RunnerServices } from './runner-services.js';
import { viewOf } from './run-view.js';

/** Follows a run after a cursor that its log has. */
export function follow({ groups, store }: RunnerServices, run: RunRecord, cursor: number): FollowedRun {
  let view: RunView | undefined;
  return {
    runId: run.id,
    // Most streams need no view of their run.
    get run() {
      return (view ??= viewOf(run));
    },
    hasAll: run.endedAt !== undefined && cursor === run.lastSeq,
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
