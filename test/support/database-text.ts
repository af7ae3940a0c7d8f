import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

/** How often a text is in the files of a directory, their names included. */
export async function mentionsIn(directory: string, text: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  let count = 0;
  for (const entry of entries) {
    if (entry.name.includes(text)) count++;
    if (entry.isFile())
      count += (await readFile(join(entry.parentPath, entry.name), 'latin1')).split(text).length - 1;
  }
  return count;
}

/** Which tables of a Postgres database have rows with a text, contents of files included. */
export async function tablesWith(url: string, text: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const tables = await client.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const found: string[] = [];
  for (const { name } of tables.rows) {
    const { rows } = await client.query(
      `select 1 from ${name} as t where position($1 in t::text) > 0 or position(encode($1::bytea, 'hex') in t::text) > 0 limit 1`,
      [text],
    );
    if (rows.length > 0) found.push(name);
  }
  await client.end();
  return found;
}
