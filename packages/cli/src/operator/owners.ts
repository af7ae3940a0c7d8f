import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { confirm } from '../confirm.js';
import { write } from '../outputs.js';
import { printableJson } from '../printable.js';
import { tableOf } from '../table.js';
import {
  databaseOption,
  type OpenDatabase,
  type OperatorDatabase,
  record,
  storedOwners,
  withDatabase,
} from './database.js';
import { exportOwner } from './export.js';

interface DatabaseOptions {
  database?: string;
  json?: true;
}

/** How long a process of the service may be silent before it counts as gone: several times what it is by default. */
const SILENT_MS = 30_000;

const AFTER_HELP = `
The owner is written as in the log lines of the service, such as key:ann. It is found in all modules of the database. A
SQLite file belongs to one process: stop the service before.

Examples:
  $ nest-agent-query owners list --database file:./data/agent-query.db
  $ nest-agent-query owners export key:ann --output ann
  $ nest-agent-query owners erase key:ann
`;

/** `nest-agent-query owners …` */
export function ownersCommand(open: OpenDatabase): Command {
  const owners = new Command('owners')
    .summary('List, export and erase the data of owners.')
    .description('List, export and erase what a database has of the owners of queries.')
    .helpCommand(false)
    .addHelpText('after', AFTER_HELP);
  owners
    .command('list')
    .description('List the owners, with the number of their runs and sessions.')
    .addOption(databaseOption())
    .option('--json', 'print each as a line of JSON')
    .action((options: DatabaseOptions) =>
      withDatabase(open, options.database, async (database) => {
        record(database, 'lists the owners');
        await printOwners(database, options.json);
      }),
    );
  owners
    .command('export')
    .description('Write all that there is of an owner, as JSON and files.')
    .argument('<owner>', 'the owner')
    .addOption(databaseOption())
    .requiredOption('-o, --output <directory>', 'a directory that is new or empty; - is stdout')
    .action((owner: string, { database: url, output }: DatabaseOptions & { output: string }) =>
      withDatabase(open, url, async (database) => {
        record(database, `exports the owner ${printableJson(owner)}`);
        await exportOwner(database, owner, output);
      }),
    );
  owners
    .command('erase')
    .description('Cancel the runs of an owner, and erase all that there is of it. Nothing brings it back.')
    .argument('<owner>', 'the owner')
    .addOption(databaseOption())
    .option('-y, --yes', 'do not ask')
    .option('--json', 'print what was erased as a line of JSON')
    .action(async (owner: string, { database: url, yes, json }: DatabaseOptions & { yes?: true }) => {
      const name = printableJson(owner);
      if (url && !yes && !(await confirm(`Erase all that there is of the owner ${name}?`))) return;
      await withDatabase(open, url, async (database) => {
        record(database, `erases the owner ${name}`);
        const erased = await erase(database, owner);
        const counts = Object.entries(erased).map(([what, count]) => `${count} ${what}`);
        const text = `The owner ${name} was erased: ${counts.join(', ')}.`;
        await write(process.stdout, `${json ? printableJson({ owner, erased }) : text}\n`);
      });
    });
  return owners;
}

async function printOwners(database: OperatorDatabase, json: true | undefined): Promise<void> {
  const countsIn = async (table: 'runs' | 'sessions') => {
    const counts = await database.db
      .selectFrom(table as 'runs')
      .select((of) => ['owner', of.fn.countAll().as('count')])
      .where('owner', 'is not', null)
      .groupBy('owner')
      .execute();
    return new Map(counts.map(({ owner, count }) => [JSON.parse(owner!) as string, Number(count)]));
  };
  const [runs, sessions] = [await countsIn('runs'), await countsIn('sessions')];
  const rows = (await storedOwners(database)).map((stored) => ({
    ...database.ownerOf(stored),
    runs: runs.get(stored) ?? 0,
    sessions: sessions.get(stored) ?? 0,
  }));
  if (json) return write(process.stdout, rows.map((row) => `${printableJson(row)}\n`).join(''));
  const cells = rows.map(({ owner, module, ...counts }) => [
    ...[owner, module || '-', String(counts.runs), String(counts.sessions)],
  ]);
  await write(process.stdout, tableOf(['OWNER', 'MODULE', 'RUNS', 'SESSIONS'], cells, Infinity));
}

/** Erases an owner in all modules. */
async function erase(database: OperatorDatabase, owner: string) {
  const all = { runs: 0, sessions: 0, files: 0, uploads: 0, usage: 0 };
  if (!database.isShared) await database.db.deleteFrom('processes').execute();
  for (const stored of await storedOwners(database, owner)) {
    all.files += await filesOf(database, stored);
    const erased = await eraseStored(database, stored);
    for (const [what, count] of Object.entries(erased)) all[what as keyof typeof erased] += count;
  }
  return all;
}

/** How many contents the runs and turns of an owner have. */
async function filesOf({ db }: OperatorDatabase, stored: string): Promise<number> {
  const { files } = await db
    .selectFrom('files')
    .where('owner', '=', JSON.stringify(stored))
    .where('run_id', 'not like', 'upload %')
    .select((of) => of.fn.count('sha256').distinct().as('files'))
    .executeTakeFirstOrThrow();
  return Number(files);
}

/** A run of a process that was killed ends only when the process counts as gone. */
async function eraseStored(database: OperatorDatabase, stored: string) {
  try {
    return await database.eraseOwner(stored);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'session_busy' || !(await endSilent(database))) throw error;
  }
  process.stderr.write('A process of the service is gone. Its runs are erased.\n');
  return database.eraseOwner(stored);
}

/** Ends the right of silent processes to their runs. Returns whether there was one. */
async function endSilent({ db }: OperatorDatabase): Promise<boolean> {
  const before = await db.selectFrom('processes').select(['id', 'heartbeat']).execute();
  process.stderr.write(`A run has not ended. Its process is watched for ${SILENT_MS / 1000} s.\n`);
  await delay(SILENT_MS);
  let ended = 0n;
  for (const { id, heartbeat } of before) {
    const silent = db.deleteFrom('processes').where('id', '=', id).where('heartbeat', '=', heartbeat);
    ended += (await silent.executeTakeFirst()).numDeletedRows;
  }
  return ended > 0n;
}
