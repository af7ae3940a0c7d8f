import { createWriteStream, openAsBlob } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import type { ExpressionBuilder, Kysely } from 'kysely';
import { UsageError } from '../failures.js';
import { write } from '../outputs.js';
import { type OpenDatabase, type OperatorDatabase, record, withDatabase } from './database.js';

/** The tables that are copied row by row, with their primary keys. A trigger fills the table of metadata. */
const COPIED: Record<string, string[]> = {
  sessions: ['key'],
  runs: ['id'],
  log: ['run_id', 'last'],
  turns: ['session_key', 'number'],
  texts: ['run_id', 'sha256'],
  usage: ['owner_hash', 'session_key', 'day', 'model_key', 'owner'],
  requests: ['key'],
  deliveries: ['id'],
  disabled_endpoints: ['address'],
  files: ['run_id', 'sha256'],
};

/** How many rows are read at once. */
const PAGE = 200;
/** The same for tables whose rows may have many MiB. */
const SHORT_PAGES: Record<string, number> = { turns: 20, texts: 8 };

type Row = Record<string, unknown>;
type AnyTables = Record<string, Row>;

const AFTER_HELP = `
Stop the service before. What the new database has already is left as it is, so the command may be repeated. Files that
were sent before a query are not copied.

Example:
  $ nest-agent-query copy file:./data/agent-query.db postgres://agent@db/agent
`;

/** `nest-agent-query copy FROM TO` */
export function copyCommand(open: OpenDatabase): Command {
  return new Command('copy')
    .summary('Copy a database to another one.')
    .description('Copy sessions, runs, files and usage from a database of the service to another one.')
    .argument('<from>', 'the URL of the database: file:… or postgres://…')
    .argument('<to>', 'the URL of the other database, which may be new')
    .addHelpText('after', AFTER_HELP)
    .action((from: string, to: string) =>
      withDatabase(open, from, (source) => withDatabase(open, to, (target) => copy(source, target), true)),
    );
}

async function copy(source: OperatorDatabase, target: OperatorDatabase): Promise<void> {
  if (source.name === target.name) throw new UsageError('Both URLs name the same database.');
  const unfinished = await source.db
    .selectFrom('runs')
    .select((of) => [of.fn.countAll().as('count'), of.fn.min('id').as('id')])
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (Number(unfinished.count) > 0)
    throw new UsageError(
      `Runs have not ended: ${Number(unfinished.count)}, such as ${unfinished.id}. Let the service end them, or cancel them, ` +
        'stop the service, and copy then.',
    );
  record(target, `copies all of ${source.name}`);
  for (const [table, keys] of Object.entries(COPIED)) await copyTable(source, target, table, keys);
  await copyContents(source, target);
}

async function copyTable(
  source: OperatorDatabase,
  target: OperatorDatabase,
  table: string,
  keys: string[],
): Promise<void> {
  const [from, to] = [source.db, target.db] as unknown as Kysely<AnyTables>[];
  const limit = SHORT_PAGES[table] ?? PAGE;
  let [read, added] = [0, 0];
  for (let last: Row | undefined; ;) {
    const page = from!
      .selectFrom(table)
      .selectAll()
      // Uploads expire soon.
      .$if(table === 'files', (of) => of.where('run_id', 'not like', 'upload %'))
      .$if(last !== undefined, (of) => of.where((row) => isAfter(row, keys, last!)))
      .limit(limit);
    const rows = await keys.reduce((of, key) => of.orderBy(key), page).execute();
    if (rows.length > 0) {
      const { numInsertedOrUpdatedRows } = await to!
        .insertInto(table)
        .values(rows)
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      read += rows.length;
      added += Number(numInsertedOrUpdatedRows ?? 0);
    }
    if (rows.length < limit) break;
    last = rows.at(-1);
  }
  await write(process.stdout, `${table}: ${added} copied, ${read - added} were there\n`);
}

/** Whether a row comes behind another one in the order of these columns. */
function isAfter(row: ExpressionBuilder<AnyTables, string>, [key, ...others]: string[], last: Row): never {
  const later = row(key!, '>', last[key!]);
  if (others.length === 0) return later as never;
  return row.or([later, row.and([row(key!, '=', last[key!]), isAfter(row, others, last)])]) as never;
}

async function copyContents(source: OperatorDatabase, target: OperatorDatabase): Promise<void> {
  const uses = (of: OperatorDatabase) =>
    of.db.selectFrom('file_uses').select(['run_id', 'sha256']).where('pinned_at', 'is', null);
  const there = new Set((await uses(target).execute()).map(({ run_id, sha256 }) => `${run_id} ${sha256}`));
  const all = await uses(source).orderBy('sha256').execute();
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-copy-'));
  let [added, expired] = [0, 0];
  try {
    let newest: { sha256: string; content: Blob } | undefined;
    for (const { run_id: id, sha256 } of all.filter((use) => !there.has(`${use.run_id} ${use.sha256}`))) {
      if (newest?.sha256 !== sha256) {
        const content = await source.store.files.read(id, sha256);
        newest = content && { sha256, content: await savedAs(join(directory, 'content'), content) };
      }
      if (!newest) {
        expired++;
        continue;
      }
      await target.store.files.keep(id, sha256, newest.content, true);
      added++;
    }
  } finally {
    await rm(directory, { recursive: true });
  }
  const rest = expired > 0 ? `, ${expired} are no longer kept` : '';
  await write(
    process.stdout,
    `contents: ${added} copied, ${all.length - added - expired} were there${rest}\n`,
  );
}

/** The content as a file, which may be larger than the memory. */
async function savedAs(path: string, content: AsyncIterable<Uint8Array>): Promise<Blob> {
  await pipeline(Readable.from(content), createWriteStream(path, { mode: 0o600 }));
  return openAsBlob(path);
}
