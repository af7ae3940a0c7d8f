/**
 * How much one file may cost. Provide an object of this class to change a value; what is not provided has the
 * default that stands here.
 *
 * @example
 * providers: [
 *   FilesHandler,
 *   { provide: FilesLimits, useValue: Object.assign(new FilesLimits(), { seconds: 5 }) },
 * ]
 */
export class FilesLimits {
  /**
   * Seconds that one file may take; above 0, default 20. One more second is granted for every 8 MiB of the file, so
   * that a large file which is merely read through is not taken for one that hangs its parser.
   */
  seconds = 20;

  /** MiB of memory that the parser of one file may hold, objects and buffers each; at least 16, default 256. */
  memoryMiB = 256;

  /** MiB that may be unpacked from one compressed file; above 0, default 1024. Unpacked data is never held whole. */
  expandedMiB = 1024;

  /** Entries of one archive that are looked at; at least 1, default 20,000. */
  entries = 20_000;

  /** Files that are parsed at the same time, over all queries; at least 1, default 2. Others wait their turn. */
  threads = 2;
}
