import { bytes, count } from './markdown.js';
import { UnreadableFile } from './unreadable-file.js';

/**
 * Thrown where a limit ends the reading of a file. A parser that catches it describes what it has read, and throws it again:
 * the answer then says where reading stopped.
 */
export class ReadingStopped extends Error {
  override readonly name = 'ReadingStopped';

  /**
   * @param where such as `after 12 MB of 200 MB`; empty if only the catcher knows
   * @param why the limit, such as `no more than 20 seconds are spent on it`
   */
  constructor(
    readonly where: string,
    readonly why: string,
  ) {
    super(`Reading stopped ${where || 'here'}: ${why}.`);
  }

  /** The same, with the place that a reader of an outer format knows. */
  at(where: string): ReadingStopped {
    return new ReadingStopped(where, this.why);
  }
}

/** Whether an error is about what a file is or costs. Its message is for the caller. */
export function isOfFile(error: unknown): error is UnreadableFile | ReadingStopped {
  return error instanceof UnreadableFile || error instanceof ReadingStopped;
}

/** What is read; undefined if the file cannot be read. */
export async function ifReadable<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isOfFile(error)) return undefined;
    throw error;
  }
}

/** @param maxBytes the limit of what is unpacked from one file */
export function unpackedTooMuch(maxBytes: number): ReadingStopped {
  return new ReadingStopped('', `it unpacks to more than ${bytes(maxBytes)}`);
}

/** @param limit entries of one archive that are read */
export function tooManyEntries(limit: number): ReadingStopped {
  return new ReadingStopped(`after ${count(limit, 'entry', 'entries')}`, 'no more are read of one archive');
}

/**
 * Reads to the end, or until a limit ends it.
 *
 * @returns what ended it; undefined if it was read to the end
 */
export async function untilStopped(reading: () => Promise<void>): Promise<ReadingStopped | undefined> {
  try {
    await reading();
  } catch (error) {
    if (error instanceof ReadingStopped) return error;
    throw error;
  }
  return undefined;
}
