/**
 * How much one file may cost. To change a value, provide an object of this class; the other values keep their defaults.
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
   * large file needs this time only to be read.
   */
  seconds = 20;

  /** MiB of memory that the parser of one file may use for objects, and again for buffers; at least 16, default 256. */
  memoryMiB = 256;

  /** MiB that may be unpacked from one compressed file; greater than 0, default 1024. Never in memory as a whole. */
  expandedMiB = 1024;

  /** Entries of one archive that are read; at least 1, default 20,000. */
  entries = 20_000;

  /** Files of all queries that are parsed at the same time; at least 1, default 2. Further files wait. */
  threads = 2;
}
