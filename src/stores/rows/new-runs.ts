import { type Selectable, sql } from 'kysely';
import type { Admission } from '../../query/index.js';
import { type ColumnTypes, RowStatement } from '../drivers/row-statement.js';
import { entryKey, keyOf, ownerHashOf } from '../schema/keys.js';
import type { Tables } from '../schema/tables.js';
import { loadOf, ownerRefOf } from './queues.js';
import type { RunEnding } from './run-changes.js';
import { statementWith } from './run-rows.js';
import type { WrittenQuery } from './stored-query.js';

const TEXTS = [
  ...(['id', 'owner', 'owner_key', 'session_key', 'session', 'status', 'parts', 'kwargs'] as const),
  ...(['idempotency_key', 'digest', 'module', 'process', 'trace', 'path'] as const),
  ...(['metadata', 'metadata_entries', 'usage', 'outcome'] as const),
];
const NUMBERS = [
  ...(['owner_hash', 'queue_position', 'created_at', 'started_at', 'detached', 'ready_at'] as const),
  ...(['round', 'deferred_at', 'ended_at', 'last_seq', 'log_length'] as const),
];

/** A run as its admission inserts it. */
export type NewRun = Pick<Selectable<Tables['runs']>, (typeof TEXTS | typeof NUMBERS)[number]>;

export const RUN_TYPES = Object.fromEntries([
  ...TEXTS.map((name) => [name, 'text']),
  ...NUMBERS.map((name) => [name, 'bigint']),
]) as ColumnTypes<NewRun>;
export const RUN_COLUMNS = Object.keys(RUN_TYPES) as (keyof NewRun)[];

/** A run that is inserted if fewer runs of its owner are active. */
export type LimitedRun = NewRun & { max_active: number };

const LIMITED_TYPES: ColumnTypes<LimitedRun> = { ...RUN_TYPES, max_active: 'bigint' };

/** A run that starts with its admission in this process, but for its position in the queue of its session. */
export function startedRun(
  { runId, owner, session, idempotency, module = '', detached, trace, path, metadata }: Admission,
  { parts, kwargs }: WrittenQuery,
  process: string,
  now: number,
  limit: number,
): NewRun {
  return {
    id: runId,
    owner: JSON.stringify(owner),
    owner_hash: ownerHashOf(owner),
    owner_key: limit === Infinity ? null : ownerRefOf(owner, module).key,
    session_key: session ? keyOf(owner, session.id) : null,
    session: session ? JSON.stringify(session.id) : null,
    queue_position: null,
    status: 'running',
    created_at: now,
    started_at: now,
    ready_at: now,
    round: 0,
    deferred_at: null,
    parts,
    kwargs,
    idempotency_key: idempotency ? keyOf(owner, idempotency.key) : null,
    digest: idempotency ? JSON.stringify(idempotency.digest) : null,
    module,
    process,
    detached: detached ? 1 : 0,
    trace: trace ?? null,
    path: path ?? null,
    metadata: metadata ? JSON.stringify(metadata) : null,
    metadata_entries: metadata
      ? JSON.stringify(Object.entries(metadata).map((entry) => entryKey(owner, entry)))
      : null,
    usage: null,
    ended_at: null,
    outcome: null,
    last_seq: null,
    log_length: null,
  };
}

/** The row of a new run that ends in the commit that inserts it. */
export function endedRun(
  run: NewRun,
  { usage, status, ended_at, outcome, last, log_length }: RunEnding,
): NewRun {
  // Not two objects spread into one, which V8 is slow at.
  const ended = { ...run };
  ended.status = status;
  ended.ended_at = ended_at;
  ended.outcome = outcome;
  ended.last_seq = last;
  ended.log_length = log_length;
  ended.usage = usage;
  ended.parts = ended.kwargs = null;
  return ended;
}

export const insertion = new RowStatement<NewRun>(RUN_TYPES, (db, rows) =>
  db.insertInto('runs').columns(RUN_COLUMNS).expression(rows),
);

/**
 * Inserts those of these runs whose owners are below their limits then, and returns their ids. On a shared database, the owners
 * must be locked. On Postgres it takes twice as long as `insertion`.
 */
export const insertionWithinLimits = statementWith('candidate', LIMITED_TYPES, (db) =>
  db
    .with('placed', (of) =>
      of
        .selectFrom('candidate')
        .selectAll()
        .select(sql<number>`row_number() over (partition by owner_key order by id)`.as('place'))
        .select((candidate) => loadOf(candidate.ref('candidate.owner_key'))),
    )
    .insertInto('runs')
    .columns(RUN_COLUMNS)
    .expression((of) =>
      of
        .selectFrom('placed')
        .select(RUN_COLUMNS)
        .where((row) => row(row('active', '+', row.ref('place')), '<=', row.ref('max_active')))
        .where('deferred', 'is', null),
    )
    .returning('runs.id'),
);
