import { createReadStream, createWriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { count } from '../markdown.js';

/** Lines that are named. */
const NAMED = 5;

/** Changes the lines of a file. @param change gives the new line; undefined if it is left out */
export async function changeLines(path: string, change: (line: string) => string | undefined): Promise<void> {
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Infinity });
  async function* changed(): AsyncGenerator<string> {
    for await (const line of lines) {
      const text = change(line);
      if (text !== undefined) yield `${text}\n`;
    }
  }
  const written = `${path}.changed`;
  await pipeline(Readable.from(changed()), createWriteStream(written, { mode: 0o600, flags: 'wx' }));
  await rename(written, path);
}

/**
 * Leaves out the lines of a file that have no object of JSON.
 *
 * @returns a sentence about them; undefined if most lines are so, or an array was cut off: then it has no objects line by line
 */
export async function leaveOutBroken(path: string): Promise<string | undefined> {
  const broken: number[] = [];
  let number = 0;
  let kept = 0;
  let isCut = false;
  await changeLines(path, (line) => {
    number += 1;
    if (line.trim() === '') return undefined;
    isCut ||= line.trim() === '[';
    if (isObject(line)) {
      kept += 1;
      return line;
    }
    broken.push(number);
    return undefined;
  });
  if (isCut || broken.length === 0 || broken.length > kept) return undefined;
  const named = broken.slice(0, NAMED).map((line) => line.toLocaleString('en-US'));
  const lines = `line${broken.length === 1 ? '' : 's'} ${named.join(', ')}${broken.length > NAMED ? ' …' : ''}`;
  return `${count(broken.length, 'row')} left out, without an object of JSON: ${lines}.`;
}

function isObject(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
