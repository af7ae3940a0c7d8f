import { sql } from 'kysely';
import {
  type BudgetPeriod,
  firstDayOf,
  type ListPosition,
  pageFrom,
  type UsagePage,
  type UsageRecord,
  UsageStore,
} from '../query/index.js';
import type { Database } from './drivers/database.js';
import { keyOf, ownerHashOf } from './schema/keys.js';
import type { Db } from './schema/tables.js';
import { valueOf } from './rows/run-rows.js';
import {
  ALL_SESSIONS,
  readUsing,
  removeUsageOf,
  selectUsingOf,
  tableOfSums,
  USAGE_COLUMNS,
  usageOf,
} from './rows/usage-rows.js';

/** What an entry adds to the length of a page besides its name. */
const OVERHEAD = 256;

/** The column that is the same in all rows of a sum, and the one that callers are shown. */
const GROUPS = {
  day: { key: 'day', shown: 'day' },
  model: { key: 'model_key', shown: 'model' },
  session: { key: 'session_key', shown: 'session' },
} as const;

/** Reads what owners have used from the database. */
export class SqlUsageStore extends UsageStore {
  constructor(private readonly database: Database) {
    super();
  }

  sums(owner: string, page: UsagePage) {
    const { driver } = this.database;
    // What is being added up meanwhile counts once.
    return this.database.attempt(() => driver.snapshot((db) => readSums(db, owner, page)));
  }

  async spent(owner: string, per: BudgetPeriod): Promise<{ tokens: number; price: number }> {
    const { database } = this;
    const from = firstDayOf(per, database.now());
    // One statement, so that usage that is being added up counts once.
    const rows = await database.attempt((db) =>
      db
        .selectFrom('usage')
        .where('owner_hash', '=', ownerHashOf(owner))
        .where('owner', '=', JSON.stringify(owner))
        .where('session_key', '=', ALL_SESSIONS)
        .where('day', '>=', from)
        .select([sql<string>`''`.as('id'), sql<string | null>`null`.as('usage')])
        .select([sumOf('input_tokens + output_tokens').as('tokens'), sumOf('price').as('price')])
        .unionAll(
          selectUsingOf(db, owner)
            .select(['id', 'usage'])
            .select([sql<number>`0`.as('tokens'), sql<number>`0`.as('price')]),
        )
        .execute(),
    );
    const spent = { tokens: 0, price: 0 };
    for (const row of rows) {
      spent.tokens += row.tokens;
      spent.price += row.price;
      for (const { day, inputTokens, outputTokens, price } of usageOf(row)) {
        if (day < from) continue;
        spent.tokens += inputTokens + outputTokens;
        spent.price += price;
      }
    }
    return spent;
  }

  erase(owner: string): Promise<number> {
    return this.database.attempt((db) => removeUsageOf(db, this.database.driver, owner), 'transaction');
  }
}

/** A sum of Postgres may be longer than its numbers. */
function sumOf(columns: string) {
  return sql<number>`cast(coalesce(sum(${sql.raw(columns)}), 0) as bigint)`;
}

async function readSums(
  db: Db,
  owner: string,
  { by, from, to, sessionId, ...page }: UsagePage,
): Promise<{ sums: UsageRecord[]; next: ListPosition | undefined }> {
  const group = GROUPS[by];
  const { after, limit } = page;
  const at = sql<number>`max(day)`;
  const key = sql<string>`cast(${sql.ref(group.key)} as text)`;
  const shown = sql<string | null>`cast(max(${sql.ref(group.shown)}) as text)`;
  const isOfEach = by === 'session' && sessionId === undefined;
  const sessionKey = sessionId === undefined ? ALL_SESSIONS : keyOf(owner, sessionId);
  const fresh = await readUsing(db, owner);
  const rows = await db
    .selectFrom((of) =>
      of
        .selectFrom('usage')
        .select(USAGE_COLUMNS)
        .where('owner_hash', '=', ownerHashOf(owner))
        .where('owner', '=', JSON.stringify(owner))
        .unionAll(tableOfSums(fresh))
        .as('used'),
    )
    .where('session_key', isOfEach ? '!=' : '=', sessionKey)
    .where('day', '>=', from)
    .where('day', '<=', to)
    .groupBy(group.key)
    .$if(after !== undefined, (of) =>
      of.having(sql<boolean>`${at} <= ${after!.at} and (${at} < ${after!.at} or ${key} < ${after!.key})`),
    )
    .select([shown.as('of'), key.as('key'), at.as('at')])
    .select([
      sumOf('runs').as('runs'),
      sumOf('input_tokens').as('inputTokens'),
      sumOf('output_tokens').as('outputTokens'),
      sumOf('reasoning_tokens').as('reasoningTokens'),
      sumOf('cached_input_tokens').as('cachedInputTokens'),
      sumOf('price').as('price'),
    ])
    .orderBy('at', 'desc')
    .orderBy('key', 'desc')
    .limit(limit + 1)
    .execute();
  const { entries, next } = pageFrom(
    rows,
    page,
    ({ of }) => OVERHEAD + (of?.length ?? 0),
    ({ at, key }) => ({ at, key }),
  );
  const sums = entries.map(({ of, at: _at, key: _key, ...counts }) => {
    return { of: valueOf<string | number>(of, 'a usage'), ...counts };
  });
  return { sums, next };
}
