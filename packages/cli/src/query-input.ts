import { closeSync, constants, openSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { InvalidArgumentError } from 'commander';
import type { FileInput } from 'nest-agent-query-client';
import { UsageError } from './failures.js';

/** What stands for stdin. */
const STDIN = '-';
/** Far more than services take as a text. It bounds the memory, and the time that passes before that is known. */
const MOST_TEXT_MIB = 64;
const UNKNOWN_TYPE = 'application/octet-stream';

/**
 * The text of a query: words of the command line, or stdin.
 *
 * @returns undefined for a query of files alone
 * @throws {UsageError} there is nothing to ask, or stdin is no text, or too long for one
 */
export async function textOf(words: string[], files: string[]): Promise<string | undefined> {
  const isPiped = words.length === 1 && words[0] === STDIN;
  if (words.length > 0 && !isPiped) return words.join(' ');
  if (!isPiped && files.length > 0) return undefined;
  if (files.includes(STDIN))
    throw new UsageError('Both the text and a file are "-". Stdin can be only one of them.');
  if (!isPiped && process.stdin.isTTY)
    throw new UsageError('There is no text. Give one, or a file with -f, or pipe one into the command.');
  const bytes = await bytesOfStdin();
  if (bytes.length === 0) throw new UsageError('There is no text: stdin is empty.');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError('Stdin is no text in UTF-8. To send it as a file: -f -');
  }
}

async function bytesOfStdin(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MOST_TEXT_MIB * 1024 * 1024)
      throw new UsageError(
        `Stdin has more than ${MOST_TEXT_MIB} MiB, too much for a text. To send it as a file: -f -`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Collects the values of an option that may be repeated. */
export function collected(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** Collects the entries of an option that may be repeated: `key=value`. The first `=` ends the key. */
export function entries(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key === undefined) throw new InvalidArgumentError('It must be key=value, such as team=sales.');
  return { ...before, [key]: value! };
}

/**
 * The files of a query, by their paths.
 *
 * @throws {UsageError} it names each file that cannot be read
 */
export async function filesOf(paths: string[]): Promise<FileInput[]> {
  const faults = await Promise.all(paths.map(faultOf));
  if (paths.filter((path) => path === STDIN).length > 1) faults.push('Stdin can be one file only.');
  const found = faults.filter((fault) => fault !== undefined);
  if (found.length > 0) throw new UsageError(found.join('\n'));
  return Promise.all(paths.map(inputOf));
}

async function inputOf(path: string): Promise<FileInput> {
  if (path === STDIN) return { name: 'stdin', mimeType: UNKNOWN_TYPE, content: process.stdin };
  const { default: mime } = await import('mime');
  const name = basename(path);
  return { name, mimeType: mime.getType(name) ?? UNKNOWN_TYPE, content: path };
}

async function faultOf(path: string): Promise<string | undefined> {
  if (path === STDIN) return undefined;
  try {
    const status = await stat(path);
    if (status.isDirectory()) return `${JSON.stringify(path)} is a directory. Name its files.`;
    await access(path, constants.R_OK);
    if (status.isFIFO()) process.once('exit', () => releaseReaderOf(path));
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'There is no such file' : `The file cannot be read (${code})`;
    return `${JSON.stringify(path)} cannot be sent. ${why}.`;
  }
}

/** While nobody writes a FIFO, a thread waits to open it, and Node cannot end the process before that thread. */
function releaseReaderOf(fifo: string): void {
  try {
    closeSync(openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK));
  } catch {
    // No thread waits there.
  }
}
