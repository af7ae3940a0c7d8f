import { createHash } from 'node:crypto';
import { mkdir, open, rm, stat } from 'node:fs/promises';
import { join, parse } from 'node:path';
import type { AgentQueryClient, AnswerResult } from 'nest-agent-query-client';
import { sentencesOf, UsageError } from './failures.js';
import { Interrupted, type Interruption, interruptible } from './interruption.js';
import type { Outputs } from './outputs.js';
import { printableLine } from './printable.js';

/** How many other names are tried for a file whose name is taken. */
const MOST_NAMES = 1000;
/** The most bytes of a name on usual file systems. */
const MOST_NAME_BYTES = 255;
/** What comes after a dot and is longer is no type. */
const MOST_TYPE_BYTES = 32;

/** @throws {UsageError} files cannot be saved in what has this path */
export async function checkDirectory(path: string | undefined): Promise<void> {
  if (path === undefined) return;
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === false)
    throw new UsageError(
      `${JSON.stringify(path)} is no directory. Give --output a new name, or a directory.`,
    );
}

/**
 * Saves the files of an answer. No file that is there is overwritten, and none is written outside of the directory.
 *
 * @param directory is made if it is not there; undefined: nothing is saved, and how to do it is said
 * @returns whether everything was saved that should be; if not, that is said
 * @throws {Interrupted} a signal came, or stdout takes no more; that not all was saved is said
 */
export async function saveFiles(
  result: AnswerResult,
  directory: string | undefined,
  client: AgentQueryClient,
  outputs: Outputs,
): Promise<boolean> {
  if (result.files.length === 0) return true;
  const advice = `To save its files: nest-agent-query follow ${result.runId} --output DIR`;
  if (directory === undefined) {
    outputs.note(advice);
    return true;
  }
  const leaving = new AbortController();
  const begin = () => saveAll(result, directory, client, outputs, leaving.signal);
  const stop = async (_: Interruption, saving: Promise<void>) => {
    leaving.abort();
    // A file that did not arrive whole is removed.
    await saving.catch(() => undefined);
  };
  try {
    await interruptible(begin, stop);
    return true;
  } catch (error) {
    const why = error instanceof Interrupted ? '' : ` ${sentencesOf(error)}`;
    outputs.note(`Not all files were saved.${why}\n${advice}`);
    if (error instanceof Interrupted) throw error;
    return false;
  }
}

async function saveAll(
  { runId, files }: AnswerResult,
  directory: string,
  client: AgentQueryClient,
  outputs: Outputs,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const { name, sha256 } of files) {
    outputs.showStatus(`Downloading ${printableLine(name)}`);
    const response = await client.file(runId, sha256, { signal });
    const path = await save(response, sha256, directory, safeName(name));
    const isRenamed = parse(path).base !== name;
    outputs.note(`saved: ${path}${isRenamed ? ` (the agent calls it ${JSON.stringify(name)})` : ''}`);
  }
}

/** A name that is no path, no hidden file, valid on every system, and read in the order of its characters. */
export function safeName(name: string): string {
  const safe = name.replace(/[\p{Cc}\p{Bidi_C}/\\:*?"<>|]/gu, '_').replace(/^\.+|(?<![. ])[. ]+$/g, '_');
  // On Windows these are devices, with any extension.
  return safe === '' || /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(safe) ? `_${safe}` : safe;
}

async function save(response: Response, sha256: string, directory: string, name: string): Promise<string> {
  const { path, file } = await create(directory, name);
  const hash = createHash('sha256');
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    if (hash.digest('hex') !== sha256) throw new Error(`${path} did not arrive whole.`);
    return path;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Creates a file that was not there: `a.txt`, or else `a (2).txt`, … */
async function create(directory: string, name: string) {
  for (let number = 1; ; number += 1) {
    const path = join(directory, number === 1 ? name : numberedName(name, number));
    try {
      return { path, file: await open(path, 'wx') };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || number === MOST_NAMES) throw error;
    }
  }
}

/** A name with a number, such as `a (2).txt`, of not more bytes than file systems take. */
export function numberedName(name: string, number: number): string {
  const { ext } = parse(name);
  const type = Buffer.byteLength(ext) > MOST_TYPE_BYTES ? '' : ext;
  const end = ` (${number})${type}`;
  const stem = [...name.slice(0, name.length - type.length)];
  while (Buffer.byteLength(stem.join('') + end) > MOST_NAME_BYTES) stem.pop();
  return stem.join('') + end;
}
