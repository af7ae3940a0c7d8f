import { type Expression, type ExpressionBuilder, type Selectable, sql, type SqlBool } from 'kysely';
import { addTokens, type Tokens, type Used } from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import { type ColumnTypes, RowStatement } from '../drivers/row-statement.js';
import { keyOf, ownerHashOf } from '../schema/keys.js';
import type { Db, Tables } from '../schema/tables.js';
import { valueOf } from './run-rows.js';

/** Stands for the session in the sums of all runs, with and without a session. */
export const ALL_SESSIONS = '*';

/** Stands for it in the sums of runs whose session is not kept, or that have none. */
const NO_SESSION = '';

/** The name of the lock of whoever changes sums. */
const LOCK = 'usage';

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
  // With the plain column, SQLite would use the index of lists, and read all runs of the owner. Postgres ignores the cast.
  const ownerHash = sql<number>`cast(owner_hash as bigint)`;
  return selectUsing(db).where(ownerHash, '=', ownerHashOf(owner)).where('owner', '=', JSON.stringify(owner));
}

/** A condition on runs. */
type Condition = (of: ExpressionBuilder<Tables, 'runs'>) => Expression<SqlBool>;

const USERS = ['owner', 'owner_hash', 'session_key', 'session'] as const;

/** What runs of an owner, and of a session, have used: their texts, one per line. JSON of ours has no line end. */
type Using = Pick<Selectable<Tables['runs']>, (typeof USERS)[number]> & { usages: string };

/** Fewer and longer rows: to pass a row from the database to this thread takes longer than to read what it has used. */
const USAGES = sql<string>`string_agg(usage, ${sql.lit('\n')})`.as('usages');

/** Reads what an owner has used that is not added up yet: the sums of each session, and those of all. */
export async function readUsing(db: Db, owner: string): Promise<Sum[]> {
  return sumsOf(await selectUsingOf(db, owner).select(USERS).select(USAGES).groupBy(USERS).execute());
}

function sumsOf(rows: Using[]): Sum[] {
  const sums = new Map<string, Sum>();
  for (const row of rows)
    for (const used of usedBy(row))
      for (const sessionKey of [ALL_SESSIONS, row.session_key ?? NO_SESSION]) {
        // The owner is JSON, which says where it ends. The key has no space.
        const key = `${row.owner} ${sessionKey} ${used.day} ${used.model === undefined ? '' : `=${used.model}`}`;
        const sum = sums.get(key);
        if (sum) addTo(sum, used);
        else sums.set(key, newSum(row, sessionKey, used));
      }
  return [...sums.values()];
}

/** What these runs have used together, on each day with each model. */
function usedBy({ owner, usages }: Using): RunUsage[] {
  const sums: RunUsage[] = [];
  for (const usage of usages.split('\n'))
    for (const used of usageOf({ id: `the usage of ${owner}`, usage })) {
      const sum = sums.find(({ day, model }) => day === used.day && model === used.model);
      if (!sum) sums.push(used);
      else {
        addTokens(sum, used);
        sum.runs += used.runs;
      }
    }
  return sums;
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
  { owner, owner_hash, session }: Using,
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
export function tableOfSums(sums: readonly Sum[]) {
  const columns = USAGE_COLUMNS.map((name) => {
    const value = sql`value ->> ${sql.lit(name)}`;
    return sql`cast(${value} as ${sql.raw(TYPES[name])}) as ${sql.ref(name)}`;
  });
  // Of an object: `json_each` of Postgres takes no array.
  return sql<Sum>`select ${sql.join(columns)} from json_each(${JSON.stringify({ ...sums })})`;
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

/** Moves what runs have used into the sums, as a part of a transaction. All of them have ended. */
export async function addUsage(db: Db, driver: Driver, isAdded: Condition): Promise<void> {
  await driver.lock(db, LOCK);
  const sums = sumsOf(await takeUsing(db, driver, isAdded));
  if (sums.length > 0) await adding.execute(db, driver, sums);
}

/** Reads what runs have used, and removes it from their rows. */
async function takeUsing(db: Db, driver: Driver, isTaken: Condition): Promise<Using[]> {
  const using = selectUsing(db).where(isTaken);
  // One statement, since others may end runs between two.
  if (driver.isShared)
    return db
      .with('taken', () => using.select(['id', ...USERS, 'usage']).forUpdate())
      .with('cleared', (of) =>
        of.updateTable('runs').from('taken').set({ usage: null }).whereRef('runs.id', '=', 'taken.id'),
      )
      .selectFrom('taken')
      .select(USERS)
      .select(USAGES)
      .groupBy(USERS)
      .execute();
  const rows = await using.select(USERS).select(USAGES).groupBy(USERS).execute();
  await db.updateTable('runs').set({ usage: null }).where('usage', 'is not', null).where(isTaken).execute();
  return rows;
}

/** Lets usage belong to no session any more, in the transaction that removes the session. All its runs have ended. */
export async function removeSessionOfUsage(
  db: Db,
  driver: Driver,
  ownerHash: number,
  sessionKey: string,
): Promise<void> {
  await addUsage(db, driver, (run) => run('session_key', '=', sessionKey));
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

/** Removes what an owner has used, when none of its runs is left. Returns how many sums there were: one for each day and model. */
export async function removeUsageOf(db: Db, driver: Driver, owner: string): Promise<number> {
  await driver.lock(db, LOCK);
  const removed = await db
    .deleteFrom('usage')
    .where('owner_hash', '=', ownerHashOf(owner))
    .where('owner', '=', JSON.stringify(owner))
    .returning('session_key')
    .execute();
  return removed.filter(({ session_key }) => session_key === ALL_SESSIONS).length;
}
