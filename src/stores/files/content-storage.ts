import { createReadStream, rmSync } from 'node:fs';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ByteRange, type ContentFile, linkFile } from '../../query/index.js';
import type { Database } from '../drivers/database.js';

/** Where the bytes of contents are kept. Each content has an id of its own, which is never used again. */
export interface ContentStorage {
  /** Afterwards, all bytes survive a loss of power. If it rejects, `remove` removes the bytes that were written so far. */
  write(id: string, content: Blob): Promise<void>;

  /** Reads a content of `size` bytes, or a range of it. The iteration throws if the content is removed during it. */
  read(id: string, size: number, range?: ByteRange): AsyncIterable<Uint8Array>;

  /** See `FileStore.open`. */
  open?(id: string): Promise<ContentFile | undefined>;

  /** Does nothing if there is no such content. */
  remove(id: string): Promise<void>;
}

/** Where a database keeps contents: in its directory, or in a table if it has none. */
export function storageOf(database: Database): ContentStorage {
  const { contentDirectory } = database.driver;
  return contentDirectory === undefined ? new TableStorage(database) : new DirectoryStorage(contentDirectory);
}

/** Keeps each content in a file of its own, in a directory that belongs to this process alone. */
export class DirectoryStorage implements ContentStorage {
  /** The second names of the files that runs read: in this file system, so that it can have them. */
  readonly #opened: string;

  constructor(private readonly directory: string) {
    this.#opened = join(directory, 'opened');
    // What a process left that crashed.
    rmSync(this.#opened, { recursive: true, force: true });
  }

  async write(id: string, content: Blob): Promise<void> {
    const path = this.#pathOf(id);
    const directory = dirname(path);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeFile(path, content.stream(), { flag: 'wx', mode: 0o600, flush: true });
    // The name of the file must survive a loss of power too.
    const parent = await open(directory);
    try {
      await parent.sync();
    } finally {
      await parent.close();
    }
  }

  read(id: string, _size: number, range?: ByteRange): AsyncIterable<Uint8Array> {
    return createReadStream(this.#pathOf(id), { ...range, highWaterMark: 256 * 1024 });
  }

  open(id: string): Promise<ContentFile | undefined> {
    return linkFile(this.#pathOf(id), this.#opened);
  }

  remove(id: string): Promise<void> {
    return rm(this.#pathOf(id), { force: true });
  }

  /** A path in one of 256 directories: operators' tools are slow in a directory with very many files. */
  #pathOf(id: string): string {
    return join(this.directory, id.slice(0, 2), id);
  }
}

/** The bytes of each chunk but the last. */
const CHUNK_BYTES = 512 * 1024;
const REMOVED_CHUNKS = 16;

/** Keeps contents in a table of the database, so that every process that shares the database can read them. */
class TableStorage implements ContentStorage {
  constructor(private readonly database: Database) {}

  async write(id: string, content: Blob): Promise<void> {
    for (let number = 0; number * CHUNK_BYTES < content.size; number++) {
      const chunk = content.slice(number * CHUNK_BYTES, (number + 1) * CHUNK_BYTES);
      const row = { content_id: id, number, bytes: Buffer.from(await chunk.arrayBuffer()) };
      await this.database.attempt((db) => db.insertInto('chunks').values(row).execute());
    }
  }

  async *read(
    id: string,
    size: number,
    { start, end }: ByteRange = { start: 0, end: size - 1 },
  ): AsyncIterable<Uint8Array> {
    for (let number = Math.floor(start / CHUNK_BYTES); number * CHUNK_BYTES <= end; number++) {
      const chunk = await this.database.persist((db) =>
        db
          .selectFrom('chunks')
          .select('bytes')
          .where('content_id', '=', id)
          .where('number', '=', number)
          .executeTakeFirst(),
      );
      if (!chunk) throw new Error('The content was removed while it was read.');
      const offset = number * CHUNK_BYTES;
      yield chunk.bytes.subarray(Math.max(0, start - offset), end + 1 - offset);
    }
  }

  async remove(id: string): Promise<void> {
    for (;;) {
      const { numDeletedRows } = await this.database.attempt((db) => {
        const some = db.selectFrom('chunks').select('number').where('content_id', '=', id);
        return db
          .deleteFrom('chunks')
          .where('content_id', '=', id)
          .where('number', 'in', some.limit(REMOVED_CHUNKS))
          .executeTakeFirst();
      });
      if (numDeletedRows < BigInt(REMOVED_CHUNKS)) return;
    }
  }
}
