/**
 * How much one file, and all files together, may cost. To change a value, provide an object of this class; the other values
 * keep their defaults.
 *
 * @example
 * providers: [
 *   FilesHandler,
 *   { provide: FilesLimits, useValue: Object.assign(new FilesLimits(), { seconds: 5 }) },
 * ]
 */
export class FilesLimits {
  /**
   * Seconds that one file may take; greater than 0, default 20. One more second is added for every 8 MiB of the file: a
   * large file needs this time only to be read. The time that a file waits does not count.
   */
  seconds = 20;

  /**
   * MiB of resident memory that one file may take in the process that parses it, besides the 80 MiB of an idle process; at
   * least 64, default 256. All processes together take at most `processes` times as much.
   */
  memoryMiB = 256;

  /** MiB that may be unpacked from one compressed file; greater than 0, default 1024. Never in memory as a whole. */
  expandedMiB = 1024;

  /** Entries of one archive that are read; at least 1, default 20,000. */
  entries = 20_000;

  /**
   * Processes that parse files, and so files of all queries that are parsed at the same time; at least 1, default 2. Further
   * files wait. A process starts when it is needed, and ends when it was idle for ten seconds.
   */
  processes = 2;
}

const SMALLEST: Record<keyof FilesLimits, number> = {
  seconds: Number.MIN_VALUE,
  memoryMiB: 64,
  expandedMiB: Number.MIN_VALUE,
  entries: 1,
  processes: 1,
};

/** @throws {RangeError} if a value is not a number of its range, or is not known */
export function checkLimits(limits: FilesLimits): void {
  for (const [name, value] of Object.entries(limits) as [keyof FilesLimits, unknown][]) {
    const smallest = SMALLEST[name];
    if (typeof value === 'number' && value >= smallest) continue;
    const range = smallest >= 1 ? `a number from ${smallest} on` : 'a number greater than 0';
    const rule = Object.hasOwn(SMALLEST, name) ? `must be ${range}` : 'is no limit';
    throw new RangeError(`FilesLimits.${name} is ${JSON.stringify(value)}; it ${rule}.`);
  }
}
