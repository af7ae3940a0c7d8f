import type { SelectQueryBuilder } from 'kysely';
import {
  type EndedRuns,
  type EndedRunsPage,
  pageOfEnded,
  type RunEnd,
  type RunRecord,
} from '../../query/index.js';
import { keyOf, ownerHashOf } from '../schema/keys.js';
import type { Db, Tables } from '../schema/tables.js';
import { recordOf, selectRuns } from './run-rows.js';

const STATUSES: readonly RunEnd['status'][] = ['completed', 'failed', 'cancelled'];

/** Reads as many runs of each status as the page may have: an index has the runs of one status in the order of their ends. */
export async function listEndedRuns(db: Db, owner: string, page: EndedRunsPage): Promise<EndedRuns> {
  const { after, limit } = page;
  const candidates: RunRecord[] = [];
  let total = 0;
  for (const status of page.status === undefined ? STATUSES : [page.status]) {
    const wanted = <Row>(runs: Runs<Row>) => ended(runs, owner, { ...page, status });
    const rows = await wanted(selectRuns(db))
      .$if(after !== undefined, (of) => of.where('ended_at', '<=', after!.at))
      .$if(after !== undefined, (of) =>
        of.where((run) => run.or([run('ended_at', '<', after!.at), run('runs.id', '<', after!.key)])),
      )
      .orderBy('ended_at', 'desc')
      .orderBy('runs.id', 'desc')
      .limit(limit + 1)
      .execute();
    candidates.push(...rows.map(recordOf));
    const counted = wanted(
      db.selectFrom('runs').select((of) => of.fn.countAll<number | string>().as('runs')),
    );
    total += Number((await counted.executeTakeFirstOrThrow()).runs);
  }
  return { ...pageOfEnded(candidates, page), total };
}

type Runs<Row> = SelectQueryBuilder<Tables, 'runs', Row>;

function ended<Row>(runs: Runs<Row>, owner: string, { sessionId, status, since }: EndedRunsPage): Runs<Row> {
  return (
    runs
      .where('owner', '=', JSON.stringify(owner))
      .where('status', '=', status!)
      // No run ended before 1970. With a comparison, SQLite takes the index that has only runs that have ended.
      .where('ended_at', '>=', Math.max(since, 0))
      .$if(sessionId === undefined, (of) => of.where('owner_hash', '=', ownerHashOf(owner)))
      .$if(sessionId !== undefined, (of) => of.where('session_key', '=', keyOf(owner, sessionId!)))
  );
}
