import { type Selectable, sql } from 'kysely';
import type { Driver } from '../drivers/driver.js';
import { Statement } from '../drivers/row-statement.js';
import type { Db, Tables } from '../schema/tables.js';
import { LocalRun } from './local-run.js';
import { WAITING } from '../rows/queues.js';
import { COLUMNS, newestOf, recordOf, type RunRow } from '../rows/run-rows.js';
import type { QueryRow } from '../rows/stored-query.js';
import { usageOf } from '../rows/usage-rows.js';

interface Start {
  process: string;
  module: string;
  count: number;
  now: number;
}

type StartedRow = RunRow &
  Partial<Omit<QueryRow, 'checkpoint'>> &
  Pick<Selectable<Tables['runs']>, 'round' | 'ready_at' | 'usage'> & { end_offset: number | null };

/**
 * On Postgres, where other processes have admitted most runs, a query of so many bytes of JSON is read with the start of its run.
 * A longer one is read when its handler begins.
 */
const SHORT = 16 * 1024;
// Unlike `length`, `octet_length` does not read a long text.
const isShort = sql<boolean>`checkpoint is null and octet_length(parts) + octet_length(kwargs) <= ${sql.lit(SHORT)}`;

const startingOf = (isShared: boolean) =>
  new Statement<Start>((db, place) => {
    const own = place(({ process }) => process);
    return (
      db
        .with('ready', (of) =>
          of
            .selectFrom('runs')
            .select('id')
            .where('status', '=', WAITING)
            .where(
              'module',
              '=',
              place(({ module }) => module),
            )
            // Of those that have asked, also the ones whose handler waits here.
            .where('process', 'in', [sql.lit(''), own])
            .where('ready_at', 'is not', null)
            .orderBy('round')
            .orderBy('ready_at')
            .orderBy('created_at')
            .limit(place(({ count }) => count))
            // Runs that another process is starting at this moment are passed over.
            .forUpdate()
            .skipLocked(),
        )
        // The lock delays the end of the lease until the transaction has ended. Without a ready run there is nothing to commit:
        // each process looks whenever one of them has something to start.
        .with('lease', (of) =>
          of
            .selectFrom('processes')
            .select('id')
            .where('id', '=', own)
            .where((it) => it.exists(it.selectFrom('ready').select('ready.id')))
            .forKeyShare(),
        )
        .updateTable('runs')
        .set((of) => ({
          status: 'running',
          process: own,
          started_at: of.fn.coalesce('started_at', sql<number>`cast(${place(({ now }) => now)} as bigint)`),
        }))
        .where('id', 'in', (of) => of.selectFrom('ready').select('ready.id'))
        .where((of) => of.exists(of.selectFrom('lease').select('lease.id')))
        .returning(COLUMNS)
        .returning((of) => [
          'round',
          'ready_at',
          'usage',
          newestOf(of, 'last').as('last_seq'),
          newestOf(of, 'end_offset').as('end_offset'),
        ])
        .$if(isShared, (of) =>
          of.returning((run) => [
            'void',
            ...(['parts', 'kwargs'] as const).map((name) =>
              run.case().when(isShort).then(run.ref(name)).end().as(name),
            ),
          ]),
        )
    );
  });

const STARTING = { shared: startingOf(true), own: startingOf(false) };

/** Starts ready runs of a module in this process, with one statement. It starts none if the lease has ended. */
export async function startWaiting(db: Db, driver: Driver, start: Start): Promise<LocalRun[]> {
  const { module, process } = start;
  const starting = driver.isShared ? STARTING.shared : STARTING.own;
  const rows = await starting.execute<StartedRow>(db, driver, start);
  rows.sort((a, b) => a.round - b.round || a.ready_at! - b.ready_at! || a.created_at - b.created_at);
  return rows.map((row) => {
    const [last, endOffset] = [row.last_seq ?? 0, row.end_offset ?? 0];
    const local = new LocalRun(recordOf({ ...row, last_seq: last }), module, process, { last, endOffset });
    local.usage = usageOf(row);
    const { parts, kwargs = null, attempt, void: ranges = null } = row;
    if (parts) local.query = { parts, kwargs, checkpoint: null, attempt, void: ranges };
    return local;
  });
}
