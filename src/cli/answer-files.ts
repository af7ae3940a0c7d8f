import { createHash } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import { join, parse } from 'node:path';
import type { AgentQueryClient, AnswerResult } from '../client/index.js';
import type { Outputs } from './outputs.js';

/** How many other names are tried for a file whose name is taken. */
const MOST_NAMES = 1000;

/**
 * Saves the files of an answer. No file that is there is overwritten, and none is written outside of the directory.
 *
 * @param directory is made if it is not there; undefined: nothing is saved, and how to do it is said
 */
export async function saveFiles(
  { runId, files }: AnswerResult,
  directory: string | undefined,
  client: AgentQueryClient,
  outputs: Outputs,
): Promise<void> {
  if (files.length === 0) return;
  if (directory === undefined)
    return outputs.note(`To save its files: nest-agent-query follow ${runId} --output DIR`);
  await mkdir(directory, { recursive: true });
  for (const { name, sha256 } of files) {
    outputs.showStatus(`Downloading ${name}`);
    const response = await client.file(runId, sha256);
    const path = await save(response, sha256, directory, safeName(name));
    const isRenamed = parse(path).base !== name;
    outputs.note(`saved: ${path}${isRenamed ? ` (the agent calls it ${JSON.stringify(name)})` : ''}`);
  }
}

/** A name that is no path, no hidden file, and valid on every system. */
export function safeName(name: string): string {
  // eslint-disable-next-line no-control-regex
  const safe = name.replace(/[\0-\x1f\x7f/\\:*?"<>|]/g, '_').replace(/^\.+|[. ]+$/g, '_');
  return safe === '' ? '_' : safe;
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
  const { name: stem, ext } = parse(name);
  for (let number = 1; ; number += 1) {
    const path = join(directory, number === 1 ? name : `${stem} (${number})${ext}`);
    try {
      return { path, file: await open(path, 'wx') };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || number === MOST_NAMES) throw error;
    }
  }
}
