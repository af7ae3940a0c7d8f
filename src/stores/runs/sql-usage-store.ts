import { sql } from 'kysely';
import {
  type BudgetPeriod,
  firstDayOf,
  type ListPosition,
  pageFrom,
  type UsagePage,
  type UsageRecord,
  UsageStore,
} from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import { keyOf, ownerHashOf } from '../schema/keys.js';
import type { Db } from '../schema/tables.js';
import { valueOf } from './run-rows.js';
import { ALL_SESSIONS, COUNT_COLUMNS } from './usage-rows.js';

/** What an entry adds to the length of a page besides its name. */
const OVERHEAD = 256;

/** The column that is the same in all rows of a sum, and the one that callers are shown. */
const GROUPS = {
  day: { key: 'day', shown: 'day' },
  model: { key: 'model_key', shown: 'model' },
  session: { key: 'session_key', shown: 'session' },
} as const;

/** Rows of both tables have these columns. */
const COLUMNS = ['session_key', 'session', 'day', 'model_key', 'model', ...COUNT_COLUMNS] as const;

/** Reads what owners have used from the database. */
export class SqlUsageStore extends UsageStore {
  constructor(private readonly database: Database) {
    super();
  }

  sums(owner: string, page: UsagePage) {
    return this.database.attempt((db) => readSums(db, owner, page));
  }

  spent(owner: string, per: BudgetPeriod): Promise<{ tokens: number; price: number }> {
    return this.database.attempt((db) =>
      usageOf(db, owner, ALL_SESSIONS, firstDayOf(per, this.database.now()))
        .select([sumOf('input_tokens + output_tokens').as('tokens'), sumOf('price').as('price')])
        .executeTakeFirstOrThrow(),
    );
  }
}

/**
 * What an owner has used: the sums, and what is not added up yet.
 *
 * @param sessionKey that of a session, `ALL_SESSIONS`, or undefined for the sums of each session
 */
function usageOf(db: Db, owner: string, sessionKey: string | undefined, from: number, to = Infinity) {
  const ofOwner = (table: 'usage' | 'new_usage') =>
    db
      .selectFrom(table as 'usage')
      .select(COLUMNS)
      .where('owner_hash', '=', ownerHashOf(owner))
      .where('owner', '=', JSON.stringify(owner))
      .where('day', '>=', from)
      .$if(to !== Infinity, (of) => of.where('day', '<=', to));
  const isOfEach = sessionKey === undefined;
  const added = ofOwner('usage').where('session_key', isOfEach ? '!=' : '=', sessionKey ?? ALL_SESSIONS);
  const isOfOne = !isOfEach && sessionKey !== ALL_SESSIONS;
  const fresh = ofOwner('new_usage').$if(isOfOne, (of) => of.where('session_key', '=', sessionKey!));
  return db.selectFrom(added.unionAll(fresh).as('used'));
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
  const ofAll = by === 'session' ? undefined : ALL_SESSIONS;
  const sessionKey = sessionId === undefined ? ofAll : keyOf(owner, sessionId);
  const rows = await usageOf(db, owner, sessionKey, from, to)
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
