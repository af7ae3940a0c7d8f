import { type Selectable, type SelectQueryBuilder, sql } from 'kysely';
import { addTokens, dayOf, type Tokens, USAGE_DAYS, type Used } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Driver } from '../drivers/driver.js';
import { type ColumnTypes, RowStatement } from '../drivers/row-statement.js';
import { keyOf, ownerHashOf } from '../schema/keys.js';
import type { Db, Tables } from '../schema/tables.js';
import { statementWith, valueOf } from './run-rows.js';

/** Stands for the session in the sums of all runs, with and without a session. */
export const ALL_SESSIONS = '*';

/** That of the sums of runs without a session, and of those whose session is not kept any more. */
const NO_SESSION = '';

/** The name of the lock of whoever changes sums. */
const LOCK = 'usage';

/** How many runs one step adds up, if there are so many. */
const BATCH = 500;

/** A row of `usage`. */
type Sum = Tables['usage'];

const TYPES: ColumnTypes<Sum> = {
  owner_hash: 'bigint',
  owner: 'text',
  session_key: 'text',
  session: 'text',
  day: 'bigint',
  model_key: 'text',
  model: 'text',
  runs: 'bigint',
  input_tokens: 'bigint',
  output_tokens: 'bigint',
  reasoning_tokens: 'bigint',
  cached_input_tokens: 'bigint',
  price: 'bigint',
};
const COUNTS = [
  'runs',
  'input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cached_input_tokens',
  'price',
] as const;
export const USAGE_COLUMNS = Object.keys(TYPES) as (keyof Sum)[];

/** What a run has used on one day with one model. `runs` is 1 where the run has its first usage, and 0 elsewhere. */
export interface RunUsage extends Tokens {
  day: number;
  model?: string | undefined;
  runs: number;
}

/** Adds what envelopes of a run tell to what it has used before, which stays as it is. */
export function withUsed(before: readonly RunUsage[], all: readonly Used[], day: number): RunUsage[] {
  const sums = before.map((sum) => ({ ...sum }));
  for (const used of all) {
    const sum = sums.find((each) => each.day === day && each.model === used.model);
    if (sum) addTokens(sum, used);
    else sums.push({ day, runs: sums.length === 0 ? 1 : 0, ...used });
  }
  return sums;
}

/** What a run has used, as its row says it. */
export function usageOf({ id, usage }: Pick<Selectable<Tables['runs']>, 'id' | 'usage'>): RunUsage[] {
  return valueOf<RunUsage[]>(usage, id) ?? [];
}

/** Selects the runs whose usage is not added up yet. */
export function selectUsing(db: Db) {
  return db.selectFrom('runs').where('usage', 'is not', null);
}

/** Selects those of an owner. */
export function selectUsingOf(db: Db, owner: string) {
  return selectUsing(db)
    .where('owner_hash', '=', ownerHashOf(owner))
    .where('owner', '=', JSON.stringify(owner));
}

/** What these runs have used, and the sums of it: those of each session, and those of all. */
export async function readUsing(runs: SelectQueryBuilder<Tables, 'runs', object>) {
  const rows = await runs.select(['id', 'owner', 'owner_hash', 'session_key', 'session', 'usage']).execute();
  const sums = new Map<string, Sum>();
  for (const row of rows)
    for (const used of usageOf(row))
      for (const sessionKey of [ALL_SESSIONS, row.session_key ?? NO_SESSION]) {
        // The owner is JSON, which says where it ends. The key has no space.
        const key = `${row.owner} ${sessionKey} ${used.day} ${used.model === undefined ? '' : `=${used.model}`}`;
        const sum = sums.get(key);
        if (sum) addTo(sum, used);
        else sums.set(key, newSum(row, sessionKey, used));
      }
  return { ids: rows.map(({ id }) => id), sums: [...sums.values()] };
}

function addTo(sum: Sum, used: RunUsage): void {
  sum.runs += used.runs;
  sum.input_tokens += used.inputTokens;
  sum.output_tokens += used.outputTokens;
  sum.reasoning_tokens += used.reasoningTokens;
  sum.cached_input_tokens += used.cachedInputTokens;
  sum.price += used.price;
}

function newSum(
  { owner, owner_hash, session }: Pick<Selectable<Tables['runs']>, 'owner' | 'owner_hash' | 'session'>,
  sessionKey: string,
  { day, model, ...counts }: RunUsage,
): Sum {
  return {
    owner: owner!,
    owner_hash: owner_hash!,
    session_key: sessionKey,
    session: sessionKey === ALL_SESSIONS ? null : session,
    day,
    model: model === undefined ? null : JSON.stringify(model),
    model_key: model === undefined ? '' : keyOf('', model),
    runs: counts.runs,
    input_tokens: counts.inputTokens,
    output_tokens: counts.outputTokens,
    reasoning_tokens: counts.reasoningTokens,
    cached_input_tokens: counts.cachedInputTokens,
    price: counts.price,
  };
}

/** A table expression of sums: one parameter, however many there are. */
export function tableOfSums({ isShared }: Driver, sums: readonly Sum[]) {
  const json = JSON.stringify(sums);
  const columns = USAGE_COLUMNS.map((name) => {
    const value = sql`value ->> ${sql.lit(name)}`;
    return sql`cast(${value} as ${sql.raw(TYPES[name])}) as ${sql.ref(name)}`;
  });
  const rows = isShared ? sql`json_array_elements(${json}::json)` : sql`json_each(${json})`;
  return sql<Sum>`select ${sql.join(columns)} from ${rows}`;
}

const adding = new RowStatement<Sum>(TYPES, (db, rows) =>
  db
    .insertInto('usage')
    .columns(USAGE_COLUMNS)
    // SQLite would take `on` for a part of a join.
    .expression(sql`select * from (${rows}) as added where true`)
    .onConflict((conflict) =>
      conflict
        .columns(['owner_hash', 'session_key', 'day', 'model_key', 'owner'])
        .doUpdateSet((row) =>
          Object.fromEntries(
            COUNTS.map((column) => [column, row(`usage.${column}`, '+', row.ref(`excluded.${column}`))]),
          ),
        ),
    ),
);

/** Lets runs be those whose usage is added up. */
const clearing = statementWith<Pick<Tables['runs'], 'id'>, 'added'>('added', { id: 'text' }, (db) =>
  db.updateTable('runs').from('added').set({ usage: null }).whereRef('runs.id', '=', 'added.id'),
);

/** Lets usage stay as it is until the end of the transaction, but for that of runs that go on. */
export function lockUsage(db: Db, driver: Driver): Promise<void> {
  return driver.lock(db, LOCK);
}

/**
 * Moves what these runs have used into the sums, as a part of a transaction. All of them have ended.
 *
 * @returns how many of them had used something
 */
export async function addUsage(
  db: Db,
  driver: Driver,
  runs: (using: ReturnType<typeof selectUsing>) => ReturnType<typeof selectUsing>,
): Promise<number> {
  await lockUsage(db, driver);
  const { ids, sums } = await readUsing(runs(selectUsing(db)));
  if (ids.length === 0) return 0;
  await adding.execute(db, driver, sums);
  await clearing.execute(
    db,
    driver,
    ids.map((id) => ({ id })),
  );
  return ids.length;
}

/** Lets usage belong to no session any more, in the transaction that removes the session. All its runs have ended. */
export async function removeSessionOfUsage(
  db: Db,
  driver: Driver,
  ownerHash: number,
  sessionKey: string,
): Promise<void> {
  await addUsage(db, driver, (runs) => runs.where('session_key', '=', sessionKey));
  const removed = await db
    .deleteFrom('usage')
    .where('owner_hash', '=', ownerHash)
    .where('session_key', '=', sessionKey)
    .returningAll()
    .execute();
  await adding.execute(
    db,
    driver,
    removed.map((sum) => ({ ...sum, session_key: NO_SESSION, session: null })),
  );
}

/** Keeps the sums of usage. */
export class UsageSums {
  /** The day on which this process has removed what was too old. */
  #cleanedOn = 0;

  constructor(private readonly database: Database) {}

  /** Adds up what is new, and removes what is too old. */
  async addUp(): Promise<void> {
    const { database } = this;
    const ended = (runs: ReturnType<typeof selectUsing>) =>
      runs.where('ended_at', 'is not', null).orderBy('owner_hash');
    // Most sweeps find nothing, and need no transaction.
    const [one] = await database.attempt((db) => ended(selectUsing(db)).select('id').limit(1).execute());
    const addNext = (db: Db) => addUsage(db, database.driver, (runs) => ended(runs).limit(BATCH));
    while (one && (await database.attemptTransaction(addNext)) === BATCH);
    const today = dayOf(database.now());
    if (this.#cleanedOn === today) return;
    const oldest = today - USAGE_DAYS;
    await database.attempt((db) => db.deleteFrom('usage').where('day', '<', oldest).execute());
    this.#cleanedOn = today;
  }
}
