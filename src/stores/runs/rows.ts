import { type AliasedRawBuilder, sql } from 'kysely';

/** Names the columns of rows, with their types in Postgres. */
export type ColumnTypes<Row> = { [Name in keyof Row]-?: 'text' | 'bigint' };

/**
 * Makes rows a table of a statement for Postgres: an array for each column, so that the text of the statement does not depend
 * on how many rows there are.
 */
export function tableOf<Row extends object, Name extends string>(
  name: Name,
  types: ColumnTypes<Row>,
  rows: Row[],
): AliasedRawBuilder<Row, Name> {
  const columns = Object.keys(types) as (keyof Row & string)[];
  const arrays = columns.map((column) => sql`${rows.map((row) => row[column])}::${sql.raw(types[column])}[]`);
  const names = sql.join(columns.map((column) => sql.ref(column)));
  return sql<Row>`unnest(${sql.join(arrays)})`.as<Name>(sql`${sql.ref(name)}(${names})`);
}
