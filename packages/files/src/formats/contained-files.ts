import { MemoryFile, wholeOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { bytes, code } from '../markdown.js';
import { UnreadableFile } from '../unreadable-file.js';
import type { Findings } from './findings.js';

/** Describes a file that is in another one. */
export type DescribeContained = (file: FileSource) => Findings;

/** Levels of files in files that are described: the file itself, and two more. */
export const LEVELS = 3;
/** Archives of one archive that are opened, at most. */
const OPENED = 3;
/** Bytes of a file that is opened, at most: it is kept in memory. */
const LARGEST = 8 * 1024 * 1024;
const TOO_LARGE = `It is not opened, because it has more than ${bytes(LARGEST)} and is in another file.`;

const ARCHIVE = /\.(zip|jar|war|apk|whl|tar|tgz|gz)$/i;

/** Whether the name of an entry says that it is an archive, whose entries are of interest too. */
export function isArchiveName(name: string): boolean {
  return ARCHIVE.test(name);
}

/** The files in another file that are described with it. */
export class ContainedFiles {
  /** What is known about them, in Markdown. Each paragraph begins with the name of a file. */
  text = '';
  #count = 0;

  /**
   * @param outer the file that contains them, and whose time they take
   * @param most how many are described
   */
  constructor(
    private readonly outer: FileSource,
    private readonly describe: DescribeContained,
    private readonly most = OPENED,
  ) {}

  /**
   * Describes the next one, or says why it is not described.
   *
   * @throws {ReadingStopped} if a limit of the outer file ends the reading of the content
   */
  async add(
    name: string,
    content: Uint8Array | AsyncIterable<Uint8Array>,
    mimeType = 'application/octet-stream',
  ): Promise<void> {
    this.#count += 1;
    if (this.#count === this.most + 1) this.text += `\n\n(No more than ${this.most} files in it are opened.)`;
    if (this.#count > this.most) return;
    try {
      const whole = content instanceof Uint8Array ? content : await wholeOf(content, LARGEST);
      if (!whole) throw new UnreadableFile(TOO_LARGE);
      // A copy: memory that several files share must not be handed to a parser that takes it.
      const file = new MemoryFile(name, Uint8Array.from(whole), this.outer, mimeType);
      let about = '';
      for await (const piece of this.describe(file)) about += piece;
      this.text += `\n\nIn ${code(name)}: ${about}`;
    } catch (error) {
      if (!(error instanceof UnreadableFile)) throw error;
      this.text += `\n\nIn ${code(name)}: ${error.message}`;
    }
  }
}
