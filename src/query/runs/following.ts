import { QueryError } from '../contract/errors.js';
import { runNotFound } from '../contract/refusals.js';
import { Follower } from '../event-log/follower.js';
import type { FollowedRun } from '../event-log/run-stream.js';
import type { RunRecord } from '../ports/run-store.js';
import { viewOf } from './run-view.js';
import type { RunnerServices } from './runner-services.js';

/** Finds runs, and lets callers follow their logs. */
export class Following {
  constructor(private readonly services: Pick<RunnerServices, 'store' | 'groups'>) {}

  /** @throws {QueryError} `not_found` · `unavailable` */
  async find(owner: string, runId: string): Promise<RunRecord> {
    const record = await this.services.store.find(owner, runId);
    if (!record) throw runNotFound();
    return record;
  }

  /**
   * Follows a run after a cursor. Reads once before the stream begins, so that a cursor that has expired is refused with a status.
   *
   * @throws {QueryError} `invalid_query`: the cursor is greater than the newest number · `cursor_expired` · `unavailable`
   */
  async after(record: RunRecord, cursor: number): Promise<FollowedRun> {
    if (cursor > record.lastSeq) {
      const detail = `The cursor ${cursor} is greater than the number of the newest envelope, which is ${record.lastSeq}.`;
      throw new QueryError('invalid_query', detail);
    }
    await this.services.store.read(record, cursor);
    return this.from(record, cursor);
  }

  /** Follows a run after a cursor that its log has. */
  from(record: RunRecord, cursor: number): FollowedRun {
    const { store, groups } = this.services;
    const log = { read: (after: number) => store.read(record, after) };
    return {
      run: viewOf(record),
      follow: (sink) => {
        const group = groups.of(record);
        if (record.endedAt !== undefined) group.end();
        return new Follower(log, cursor, sink, group);
      },
    };
  }
}
