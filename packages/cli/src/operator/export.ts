import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { safeName } from '../answer-files.js';
import { UsageError } from '../failures.js';
import { write } from '../outputs.js';
import { printableJson } from '../printable.js';
import { logOf, type OperatorDatabase, partsOf, storedOwners, timeOf, valueOf } from './database.js';

const PAGE = 100;
/** How many characters of the name of a file are kept. */
const MOST_NAME = 50;
/** Days since 1970-01-01 that are before and after all usage. */
const ALL_DAYS = { from: 0, to: 1_000_000 };

/** Writes a line, and waits while its reader does not read. */
type WriteLine = (line: object) => Promise<void>;

/**
 * Writes all that there is of an owner, as lines of JSON: `data.jsonl`, and files beside it; or, for `-`, lines to stdout, in which
 * files are base64.
 *
 * @throws {UsageError} the directory has something in it
 */
export async function exportOwner(database: OperatorDatabase, owner: string, output: string): Promise<void> {
  if (output !== '-') await makeEmpty(output);
  const data = output === '-' ? undefined : await open(join(output, 'data.jsonl'), 'wx', 0o600);
  const writeText = (text: string) => (data ? data.appendFile(text) : write(process.stdout, text));
  const writeLine: WriteLine = (line) => writeText(`${printableJson(line)}\n`);
  for (const stored of await storedOwners(database, owner)) {
    const { module } = database.ownerOf(stored);
    await writeLine({ type: 'owner', owner, module, exportedAt: new Date().toISOString() });
    await exportSessions(database, stored, writeLine);
    await exportRuns(database, stored, writeLine);
    await exportUsage(database, stored, writeLine);
    await exportFiles(database, stored, async (file, content) => {
      if (output !== '-') return writeLine(await savedFile(output, file, content));
      // In pieces, because a content may be longer than a text can be.
      const head = printableJson({ ...file, kept: content !== undefined });
      if (!content) return writeText(`${head}\n`);
      await writeText(`${head.slice(0, -1)},"base64":"`);
      for await (const text of base64Of(content)) await writeText(text);
      await writeText('"}\n');
    });
  }
  await data?.close();
}

async function makeEmpty(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if ((await readdir(directory)).length > 0)
    throw new UsageError(`${printableJson(directory)} is not empty. Give --output a new name.`);
}

async function exportSessions(
  { db, store }: OperatorDatabase,
  owner: string,
  writeLine: WriteLine,
): Promise<void> {
  const sessions = await db
    .selectFrom('sessions')
    .select(['id', 'title'])
    .where('owner', '=', JSON.stringify(owner))
    .execute();
  for (const { id: json, title } of sessions) {
    const id = valueOf<string>(json)!;
    await writeLine({ type: 'session', id, title: valueOf(title) });
    for (let after = 0; ;) {
      const page = await store.turns(owner, id, { after, limit: 10 });
      for (const turn of page?.turns ?? []) await writeLine({ type: 'turn', session: id, turn });
      if (!page || page.last >= page.total) break;
      after = page.last;
    }
  }
}

async function exportRuns(database: OperatorDatabase, owner: string, writeLine: WriteLine): Promise<void> {
  const { db, store } = database;
  for (let after = ''; ;) {
    const runs = await db
      .selectFrom('runs')
      .select(['id', 'session', 'status', 'created_at', 'started_at', 'ended_at', 'metadata'])
      .where('owner', '=', JSON.stringify(owner))
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE)
      .execute();
    for (const { id, session, status, ...run } of runs) {
      const inputs = (await store.inputs.of({ owner, id })).map(({ request, resolved }) => ({
        request,
        resolved,
      }));
      const parts = run.ended_at === null ? await partsOf(database, { owner, id }) : undefined;
      await writeLine({
        type: 'run',
        ...{ id, status, session: valueOf(session), metadata: valueOf(run.metadata), parts, inputs },
        createdAt: timeOf(run.created_at),
        startedAt: timeOf(run.started_at),
        endedAt: timeOf(run.ended_at),
        events: await logOf(database, { owner, id }),
      });
    }
    if (runs.length < PAGE) return;
    after = runs.at(-1)!.id;
  }
}

async function exportUsage({ store }: OperatorDatabase, owner: string, writeLine: WriteLine): Promise<void> {
  for (const by of ['day', 'model', 'session'] as const) {
    const { sums } = await store.usage.sums(owner, { by, ...ALL_DAYS, after: undefined, limit: 100_000 });
    for (const sum of sums) await writeLine({ type: 'usage', by, ...named(by, sum) });
  }
}

/** A sum with what it belongs to; a day as a date, and the price in units. */
function named(by: string, sum: object) {
  const { of, price, ...counts } = sum as { of?: string | number; price: number };
  const value = by === 'day' ? timeOf(Number(of) * 86_400_000)!.slice(0, 10) : (of ?? null);
  return { [by]: value, ...counts, price: price / 1e6 };
}

interface ExportedFile {
  type: 'file';
  /** Null for a file that was sent before a query. */
  run: string | null;
  name: string;
  mimeType: string;
  size: number;
  sha256: string;
}

async function exportFiles(
  { db, store }: OperatorDatabase,
  owner: string,
  save: (file: ExportedFile, content: AsyncIterable<Uint8Array> | undefined) => Promise<void>,
): Promise<void> {
  const files = await db
    .selectFrom('files')
    .select(['run_id', 'sha256', 'name', 'mime_type', 'size'])
    .where('owner', '=', JSON.stringify(owner))
    .orderBy('sha256')
    .execute();
  for (const { run_id: id, sha256, name, mime_type: mimeType, size } of files) {
    const run = id.startsWith('upload ') ? null : id;
    const file = { type: 'file' as const, run, name: valueOf<string>(name)!, mimeType, size, sha256 };
    await save(file, await store.files.read(id, sha256));
  }
}

/** Saves a content beside the data: each once. */
async function savedFile(
  directory: string,
  file: ExportedFile,
  content: AsyncIterable<Uint8Array> | undefined,
) {
  if (!content) return { ...file, kept: false };
  // File systems take names of up to 255 bytes.
  const name = [...safeName(file.name)].slice(0, MOST_NAME).join('');
  const path = join('files', `${file.sha256.slice(0, 16)}-${name}`);
  await mkdir(join(directory, 'files'), { recursive: true, mode: 0o700 });
  const hash = createHash('sha256');
  const read = async function* () {
    for await (const chunk of content) {
      hash.update(chunk);
      yield chunk;
    }
  };
  await pipeline(Readable.from(read()), createWriteStream(join(directory, path), { mode: 0o600 }));
  if (hash.digest('hex') !== file.sha256) throw new Error(`The content of the file ${path} is damaged.`);
  return { ...file, kept: true, path };
}

async function* base64Of(content: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  let rest = Buffer.alloc(0);
  for await (const chunk of content) {
    const bytes = Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.subarray(0, whole).toString('base64');
    rest = bytes.subarray(whole);
  }
  yield rest.toString('base64');
}
