import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/**
 * The temporary files of one request. Only this user can read them. The process removes them when the request has been answered,
 * and the service when the process has died.
 */
export class Workspace {
  #count = 0;

  /** @param directory is made when the first file is written */
  constructor(readonly directory: string) {}

  /** A path at which there is no file yet. */
  async newPath(): Promise<string> {
    await mkdir(this.directory, { mode: 0o700, recursive: true });
    this.#count += 1;
    return join(this.directory, String(this.#count));
  }

  /** Writes a file. @returns its path */
  async write(chunks: AsyncIterable<Uint8Array | string>): Promise<string> {
    const path = await this.newPath();
    await pipeline(
      Readable.from(chunks, { objectMode: false }),
      createWriteStream(path, { mode: 0o600, flags: 'wx' }),
    );
    return path;
  }

  /** Removes all files but one, which is removed the next time. @param kept its path */
  async clear(kept?: string): Promise<void> {
    if (this.#count === 0) return;
    if (kept === undefined) {
      this.#count = 0;
      return rm(this.directory, { recursive: true, force: true });
    }
    for (const name of await readdir(this.directory)) {
      const path = join(this.directory, name);
      if (path !== kept) await rm(path, { recursive: true, force: true });
    }
  }
}
