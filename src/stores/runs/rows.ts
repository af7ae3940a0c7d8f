import { type AliasedRawBuilder, type RawBuilder, sql } from 'kysely';

/** Names the columns of rows, with their types in Postgres. */
export type ColumnTypes<Row> = { [Name in keyof Row]-?: 'text' | 'bigint' };

/** Stands before each text of a column. Neither it nor the other occurs in texts of the tables, which are JSON, ids and digests. */
const SEPARATOR = '\x1e';
const NULL = '\x1f';

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
  const arrays = columns.map((column) => {
    const values = rows.map((row) => row[column]);
    return types[column] === 'text' ? textArray(values as (string | null)[]) : sql`${values}::bigint[]`;
  });
  const names = sql.join(columns.map((column) => sql.ref(column)));
  return sql<Row>`unnest(${sql.join(arrays)})`.as<Name>(sql`${sql.ref(name)}(${names})`);
}

/** An array of texts, without the escapes of array literals: for long texts they cost more than all the rest. */
function textArray(texts: (string | null)[]): RawBuilder<unknown> {
  const joined = texts.map((text) => SEPARATOR + (text ?? NULL)).join('');
  // What stands before the first separator is no text.
  return sql`(string_to_array(${joined}, ${SEPARATOR}, ${NULL}))[2:]`;
}
