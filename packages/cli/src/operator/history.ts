import { Command, Option } from 'commander';
import type { Envelope, RunEnd, Turn } from 'nest-agent-query-client';
import { UsageError } from '../failures.js';
import { localTime } from '../local-time.js';
import { write } from '../outputs.js';
import { printable, printableJson } from '../printable.js';
import { tableOf } from '../table.js';
import {
  databaseOption,
  logOf,
  partsOf,
  type OpenDatabase,
  type OperatorDatabase,
  record,
  storedOwners,
  timeOf,
  valueOf,
  withDatabase,
} from './database.js';

/** What the command `runs` is told where it reads a database. */
export interface HistoryOptions {
  database?: string;
  owner?: string;
  from?: string;
  to?: string;
  status?: string;
  session?: string;
  metadata?: object;
  limit: number;
  json?: true;
}

/** Whether the command reads a database: then an option says so that no list of a service has. */
export function isOfDatabase({ database, owner, from, to }: HistoryOptions): boolean {
  return [database, owner, from, to].some((given) => given !== undefined);
}

/** The options of the command `runs` that are for a database. */
export const historyOptions = () => [
  new Option('--database <url>', 'list the runs of all owners, from the database of the service'),
  new Option('--owner <owner>', 'with --database: only the runs of this owner'),
  new Option(
    '--from <time>',
    'with --database: only runs from this time on, such as 2026-11-28 or 2026-11-28T09:00:00Z',
  ),
  new Option('--to <time>', 'with --database: only runs before this time'),
];

/**
 * Prints runs of a database, those that were admitted last first.
 *
 * @throws {UsageError} an option is wrong, or not for a database
 */
export async function printHistory(open: OpenDatabase, options: HistoryOptions): Promise<void> {
  const { owner, limit, json, status, session } = options;
  if (options.metadata)
    throw new UsageError('--metadata is not for a database: it lists what a service has.');
  const url = options.database ?? process.env['DATABASE_URL'];
  const [from, to] = [timeGiven('--from', options.from), timeGiven('--to', options.to)];
  await withDatabase(open, url, async (database) => {
    record(database, `lists runs${owner === undefined ? '' : ` of the owner ${printableJson(owner)}`}`);
    const { db, ownerOf } = database;
    const owners =
      owner === undefined
        ? undefined
        : (await storedOwners(database, owner)).map((each) => JSON.stringify(each));
    const rows = await db
      .selectFrom('runs')
      .select(['id', 'owner', 'session', 'status', 'created_at', 'started_at', 'ended_at', 'outcome'])
      .where('owner', 'is not', null)
      .$if(owners !== undefined, (of) => of.where('owner', 'in', owners!.length > 0 ? owners! : ['']))
      .$if(status !== undefined, (of) => of.where('status', '=', status!))
      .$if(session !== undefined, (of) => of.where('session', '=', JSON.stringify(session)))
      .$if(from !== undefined, (of) => of.where('created_at', '>=', from!))
      .$if(to !== undefined, (of) => of.where('created_at', '<', to!))
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit + 1)
      .execute();
    const runs = rows.slice(0, limit).map((row) => ({
      ...{
        id: row.id,
        ...ownerOf(valueOf<string>(row.owner)!),
        status: row.status,
        session: valueOf<string>(row.session),
      },
      createdAt: timeOf(row.created_at)!,
      startedAt: timeOf(row.started_at),
      endedAt: timeOf(row.ended_at),
      ...errorIn(row.outcome),
    }));
    if (json) await write(process.stdout, runs.map((run) => `${printableJson(run)}\n`).join(''));
    else if (runs.length === 0) process.stderr.write('There are no runs.\n');
    else {
      const cells = runs.map((run) => [
        run.id,
        run.owner,
        run.status,
        localTime(run.createdAt),
        run.session ?? '-',
      ]);
      await write(process.stdout, tableOf(['RUN', 'OWNER', 'STATUS', 'CREATED', 'SESSION'], cells, Infinity));
    }
    if (rows.length > limit) process.stderr.write(`There are more. To see them: --limit ${limit * 10}\n`);
  });
}

/** `nest-agent-query show RUN` */
export function showCommand(open: OpenDatabase): Command {
  return new Command('show')
    .summary('Show a run of any owner.')
    .description(
      'Show a run of any owner, from the database: question, answer, requests, times, and why it failed.',
    )
    .argument('<run>', 'the id of the run')
    .addOption(databaseOption())
    .option('--json', 'print it as a line of JSON, with its events')
    .action((id: string, { database: url, json }: { database?: string; json?: true }) =>
      withDatabase(open, url, async (database) => {
        const run = await readRun(database, id);
        record(database, `reads the run ${printableJson(id)} of the owner ${printableJson(run.owner)}`);
        await write(process.stdout, json ? `${printableJson(run)}\n` : textOf(run));
      }),
    );
}

type ShownRun = Awaited<ReturnType<typeof readRun>>;

/** @throws {UsageError} there is no such run */
async function readRun(database: OperatorDatabase, id: string) {
  const { db, store, ownerOf } = database;
  const row = /^[\w-]{1,64}$/.test(id)
    ? await db
        .selectFrom('runs')
        .selectAll()
        .where('id', '=', id)
        .where('owner', 'is not', null)
        .executeTakeFirst()
    : undefined;
  if (!row) throw new UsageError(`The database has no run ${printableJson(id)}, or it is no longer kept.`);
  const owner = valueOf<string>(row.owner)!;
  const session = valueOf<string>(row.session);
  const inputs = await store.inputs.of({ owner, id });
  return {
    id,
    ...ownerOf(owner),
    status: row.status,
    session,
    createdAt: timeOf(row.created_at)!,
    startedAt: timeOf(row.started_at),
    endedAt: timeOf(row.ended_at),
    ...errorIn(row.outcome),
    parts: await questionOf(database, owner, id, session, row.ended_at === null),
    inputs: inputs.map(({ request, resolved }) => ({ request, resolved: resolved ?? null })),
    events: await logOf(database, { owner, id }),
  };
}

/** The parts of the query; null where they are not kept: of a run that has ended, only the turn of a session has them. */
async function questionOf(
  database: OperatorDatabase,
  owner: string,
  id: string,
  session: string | null,
  isUnfinished: boolean,
): Promise<Turn['parts'] | null> {
  if (isUnfinished) return partsOf(database, { owner, id });
  if (session === null) return null;
  const found = await database.store.turn(owner, session, id);
  // A page of one turn has its long texts whole.
  const page = found && (await database.store.turns(owner, session, { after: found.number - 1, limit: 1 }));
  return page?.turns[0]?.parts ?? null;
}

function textOf(run: ShownRun): string {
  const question = run.parts?.map((part) =>
    part.type === 'text' ? part.text : `[${part.name}, ${part.mimeType}, ${part.size} bytes]`,
  );
  const answer = run.events.flatMap((event: Envelope) =>
    event.type === 'message' ? [(event.data as { content: string }).content] : [],
  );
  const lines = [
    `run       ${run.id}`,
    `owner     ${run.owner}${run.module ? ` (module ${run.module})` : ''}`,
    `session   ${run.session ?? '-'}`,
    `status    ${run.status}`,
    `created   ${run.createdAt}`,
    `started   ${run.startedAt ?? '-'}`,
    `ended     ${run.endedAt ?? '-'}`,
    ...(run.error ? [`error     ${run.error.message} (${run.error.code})`] : []),
    ...run.inputs.map(({ request, resolved }) => `asked     ${printableJson({ request, resolved })}`),
    '',
    (question?.join('\n') ?? '(the question is not kept: the run has no session)').replace(/^/gm, '> '),
    '',
    answer.join(''),
    '',
  ];
  return printable(lines.join('\n'));
}

function errorIn(outcome: string | null): { error?: { code: string; message: string } } {
  const end = valueOf<RunEnd>(outcome);
  return end?.status === 'failed' ? { error: end.error } : {};
}

/** @throws {UsageError} the value is no time */
function timeGiven(option: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const isIso = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/.test(value);
  const time = isIso ? Date.parse(value) : NaN;
  if (Number.isNaN(time))
    throw new UsageError(
      `${option} is ${printableJson(value)}. It must be a time such as 2026-11-28 or 2026-11-28T09:00:00Z.`,
    );
  return time;
}
