import { userInfo } from 'node:os';
import { Option } from 'commander';
import type { Kysely } from 'kysely';
import type { Envelope, Turn } from 'nest-agent-query-client';
import { UsageError } from '../failures.js';
import { printableJson } from '../printable.js';

/** The columns of the tables of a database that commands read. JSON is as it is stored. */
export interface Tables {
  runs: {
    id: string;
    owner: string | null;
    session: string | null;
    status: string;
    created_at: number;
    started_at: number | null;
    ended_at: number | null;
    outcome: string | null;
    metadata: string | null;
  };
  log: { run_id: string; first: number };
  sessions: { owner: string; id: string; title: string | null };
  usage: { owner: string };
  files: { run_id: string; sha256: string; owner: string; name: string; mime_type: string; size: number };
  file_uses: { run_id: string; sha256: string; pinned_at: number | null };
  processes: { id: string; heartbeat: number };
}

interface RunRef {
  owner: string;
  id: string;
}

type Bytes = AsyncIterable<Uint8Array>;

/** What commands need of the store of a database. Owners are as the store has them. */
interface Store {
  read(
    run: RunRef,
    after: number,
  ): Promise<{ count: number; lines: string }> | { count: number; lines: string };
  parts(run: RunRef): Promise<Turn['parts']> | Turn['parts'];
  turns(
    owner: string,
    sessionId: string,
    page: { after: number; limit: number },
  ): Promise<{ turns: Turn[]; last: number; total: number } | undefined>;
  turn(owner: string, sessionId: string, runId: string): Promise<{ number: number } | undefined>;
  files: {
    read(runId: string, sha256: string): Promise<Bytes | undefined>;
    keep(runId: string, sha256: string, content: Blob, isAdmitted: boolean): Promise<void>;
  };
  inputs: { of(run: RunRef): Promise<{ request: object; resolved?: object | undefined }[]> };
  usage: {
    sums(owner: string, page: object): Promise<{ sums: object[] }>;
  };
}

/** A database of a service, for the commands of its operator. */
export interface OperatorDatabase {
  /** As the operator reads it. It contains no password. */
  readonly name: string;
  /** Whether processes of the service may use it at the same time. */
  readonly isShared: boolean;
  readonly db: Kysely<Tables>;
  readonly store: Store;
  /** The module, which may be empty, and the owner that the store has as one text. */
  readonly ownerOf: (stored: string) => { module: string; owner: string };
  /** Cancels the runs of an owner, and erases all that there is of it. Returns how much there was. */
  eraseOwner(stored: string): Promise<{ runs: number; sessions: number; uploads: number; usage: number }>;
  close(): Promise<void>;
}

/** Opens a database by its URL. With `mayBeNew`, a file is made that is not there. */
export type OpenDatabase = (url: string, mayBeNew: boolean) => Promise<OperatorDatabase>;

/** The option that names the database. Its variable keeps a password out of the list of processes. */
export function databaseOption(): Option {
  return new Option('--database <url>', 'the database of the service: file:… or postgres://…').env(
    'DATABASE_URL',
  );
}

/**
 * Does some work with a database, and closes it.
 *
 * @throws {UsageError} no database is named
 */
export async function withDatabase<T>(
  open: OpenDatabase,
  url: string | undefined,
  work: (database: OperatorDatabase) => Promise<T>,
  mayBeNew = false,
): Promise<T> {
  if (!url) throw new UsageError('Name the database: --database URL, or the variable DATABASE_URL.');
  const database = await open(url, mayBeNew);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Writes a line to stderr that says who does what in the database, for the records of the operator. */
export function record(database: OperatorDatabase, what: string): void {
  const who = printableJson(userInfo().username);
  process.stderr.write(`${new Date().toISOString()} the user ${who} ${what}, in ${database.name}\n`);
}

/** The owners as the store has them: those with this name in any module, or all. */
export async function storedOwners({ db, ownerOf }: OperatorDatabase, name?: string): Promise<string[]> {
  const stored = new Set<string>();
  for (const table of ['runs', 'sessions', 'usage', 'files'] as const) {
    const rows = await db
      .selectFrom(table as 'runs')
      .select('owner')
      .distinct()
      .where('owner', 'is not', null)
      .execute();
    for (const { owner } of rows) stored.add(JSON.parse(owner!) as string);
  }
  return [...stored].filter((each) => name === undefined || ownerOf(each).owner === name).toSorted();
}

/** Reads the whole log of a run, as far as it is kept. */
export async function logOf({ store, db }: OperatorDatabase, run: RunRef): Promise<Envelope[]> {
  const kept = await db
    .selectFrom('log')
    .select((of) => of.fn.min('first').as('first'))
    .where('run_id', '=', run.id)
    .executeTakeFirst();
  const envelopes: Envelope[] = [];
  for (let after = Math.max(0, Number(kept?.first ?? 1) - 1); ;) {
    const { count, lines } = await store.read(run, after);
    if (count === 0) return envelopes;
    envelopes.push(...lines.split('\n').map((line) => JSON.parse(line) as Envelope));
    after += count;
  }
}

/** The parts of the query of a run that has not ended; null if it has ended meanwhile. */
export async function partsOf({ store }: OperatorDatabase, run: RunRef): Promise<Turn['parts'] | null> {
  try {
    return await store.parts(run);
  } catch {
    return null;
  }
}

/** A value of a column of JSON. */
export function valueOf<T>(json: string | null): T | null {
  return json === null ? null : (JSON.parse(json) as T);
}

export function timeOf(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
