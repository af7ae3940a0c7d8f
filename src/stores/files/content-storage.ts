import { createReadStream } from 'node:fs';
import { mkdir, open, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import type { ByteRange } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import { FinalError } from '../drivers/driver.js';

/** Where the bytes of contents are kept. Each content has an id of its own, which is never used again. */
export interface ContentStorage {
  /**
   * Writes a content. When the promise resolves, all bytes survive a loss of power. After a rejection, `remove` removes
   * the bytes that were written so far.
   */
  write(id: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;

  /**
   * Reads a content of `size` bytes.
   *
   * @param range which bytes. Default: all
   * @throws Error from the iteration, if the content does not exist or is removed during it
   */
  read(id: string, size: number, range?: ByteRange): AsyncIterable<Uint8Array>;

  /** Removes a content. Does nothing if it does not exist. */
  remove(id: string): Promise<void>;
}

/** Keeps each content in a file of its own, in a directory that belongs to this process alone. */
export class DirectoryStorage implements ContentStorage {
  constructor(private readonly directory: string) {}

  async write(id: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const path = this.#pathOf(id);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await open(path, 'wx', 0o600);
    try {
      for await (const chunk of bytes) await file.writeFile(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
    // The name of the file must survive a loss of power too.
    const parent = await open(dirname(path));
    try {
      await parent.sync();
    } finally {
      await parent.close();
    }
  }

  read(id: string, _size: number, range?: ByteRange): AsyncIterable<Uint8Array> {
    return createReadStream(this.#pathOf(id), { ...range, highWaterMark: 256 * 1024 });
  }

  async remove(id: string): Promise<void> {
    try {
      await unlink(this.#pathOf(id));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  /** A path in one of 256 directories: operators' tools are slow in a directory with very many files. */
  #pathOf(id: string): string {
    return join(this.directory, id.slice(0, 2), id);
  }
}

const CHUNK_BYTES = 512 * 1024;
const REMOVED_CHUNKS = 16;

/** Keeps contents in a table of the database, so that every process that shares the database can read them. */
export class TableStorage implements ContentStorage {
  constructor(private readonly database: Database) {}

  async write(id: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    let number = 0;
    for await (const chunk of inChunks(bytes)) {
      const row = { content_id: id, number: number++, bytes: chunk };
      await this.database.attempt((db) => db.insertInto('chunks').values(row).execute());
    }
  }

  async *read(id: string, size: number, range = { start: 0, end: size - 1 }): AsyncIterable<Uint8Array> {
    let { number, read } = await this.#chunkAt(id, range.start);
    for (; read <= range.end; number++) {
      const { bytes } = await this.database.persist((db) =>
        db
          .selectFrom('chunks')
          .select('bytes')
          .where('content_id', '=', id)
          .where('number', '=', number)
          .executeTakeFirstOrThrow(() => new FinalError('The content was removed while it was read.')),
      );
      const [start, end] = [Math.max(0, range.start - read), range.end + 1 - read];
      read += bytes.length;
      yield bytes.subarray(start, end);
    }
  }

  /** Finds the chunk that has a byte, and how many bytes are before it. */
  async #chunkAt(id: string, offset: number): Promise<{ number: number; read: number }> {
    if (offset === 0) return { number: 0, read: 0 };
    const chunks = await this.database.persist((db) =>
      db
        .selectFrom('chunks')
        .select(['number', sql<number>`octet_length(bytes)`.as('length')])
        .where('content_id', '=', id)
        .orderBy('number')
        .execute(),
    );
    let read = 0;
    for (const { number, length } of chunks) {
      if (offset < read + length) return { number, read };
      read += length;
    }
    throw new FinalError('The content was removed while it was read.');
  }

  async remove(id: string): Promise<void> {
    for (;;) {
      const { numDeletedRows } = await this.database.attempt((db) =>
        db
          .deleteFrom('chunks')
          .where('content_id', '=', id)
          .where(
            'number',
            'in',
            db.selectFrom('chunks').select('number').where('content_id', '=', id).limit(REMOVED_CHUNKS),
          )
          .executeTakeFirst(),
      );
      if (numDeletedRows < BigInt(REMOVED_CHUNKS)) return;
    }
  }
}

/** Joins small pieces, so that each row has at least `CHUNK_BYTES`, except for the last. */
async function* inChunks(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    pieces.push(piece);
    length += piece.length;
    if (length < CHUNK_BYTES) continue;
    yield Buffer.concat(pieces);
    pieces = [];
    length = 0;
  }
  if (length > 0) yield Buffer.concat(pieces);
}
