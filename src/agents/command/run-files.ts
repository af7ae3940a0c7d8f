import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { type FilePart, newProcessDirectory, refusalOfFiles } from '../../query/index.js';

/** An extension that is safe in every command. */
const EXTENSION = /^\.[A-Za-z0-9]{1,16}$/;

/** Copies of the files of one query, for a program that reads them by their path. */
export class RunFiles {
  #directory: string | undefined;
  #count = 0;

  /** @param parent where the directory of the run is made. What a killed service leaves there is removed at the next start */
  constructor(private readonly parent: string) {}

  /**
   * Copies a file, which is never in memory as a whole.
   *
   * @returns the absolute path of the copy. It has the extension of the file, but not its name, which the caller chooses
   * @throws {QueryError} `storage_full` · `unavailable`
   */
  async copy({ name, file }: FilePart, signal: AbortSignal): Promise<string> {
    try {
      const directory = (this.#directory ??= await this.#makeDirectory());
      const extension = extname(name);
      const path = join(directory, `${++this.#count}${EXTENSION.test(extension) ? extension : ''}`);
      const content = Readable.fromWeb(file.stream() as ReadableStream<Uint8Array>);
      await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal });
      return path;
    } catch (error) {
      throw refusalOfFiles(error);
    }
  }

  /** Removes the copies, and what the program has put beside them. */
  async remove(): Promise<void> {
    if (this.#directory !== undefined) await rm(this.#directory, { recursive: true, force: true });
  }

  async #makeDirectory(): Promise<string> {
    const directory = newProcessDirectory(this.parent);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    return directory;
  }
}
