import { createReadStream } from 'node:fs';
import { mkdir, open, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Database } from '../drivers/database.js';

/** Where the bytes of contents lie. A content has an id of its own, which is never used again. */
export interface ContentPlace {
  /** Resolves when all bytes are there to stay. What a failed attempt left is for `remove`. */
  write(id: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  /** Fails if the content is not there, or is removed meanwhile. */
  read(id: string, size: number): AsyncIterable<Uint8Array>;
  /** Nothing happens where it is gone already. */
  remove(id: string): Promise<void>;
}

/** A directory of this process's own: a file for each content. */
export class DirectoryPlace implements ContentPlace {
  /** @param directory made with the first content */
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
    // The name too must survive a loss of power.
    const parent = await open(dirname(path));
    try {
      await parent.sync();
    } finally {
      await parent.close();
    }
  }

  read(id: string): AsyncIterable<Uint8Array> {
    return createReadStream(this.#pathOf(id), { highWaterMark: 256 * 1024 });
  }

  async remove(id: string): Promise<void> {
    try {
      await unlink(this.#pathOf(id));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  /** In one of 256 directories: listing one with very many files is slow for those who look after it. */
  #pathOf(id: string): string {
    return join(this.directory, id.slice(0, 2), id);
  }
}

/** Bytes of one row. */
const CHUNK_BYTES = 512 * 1024;
/** Rows that are removed at once. */
const REMOVED_CHUNKS = 16;

/** A table of the database, so that every process that shares it can read them. */
export class TablePlace implements ContentPlace {
  constructor(private readonly database: Database) {}

  async write(id: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    let number = 0;
    for await (const chunk of inChunks(bytes)) {
      const row = { content_id: id, number: number++, bytes: chunk };
      await this.database.attempt((db) => db.insertInto('chunks').values(row).execute());
    }
  }

  async *read(id: string, size: number): AsyncIterable<Uint8Array> {
    let read = 0;
    for (let number = 0; read < size; number++) {
      const { bytes } = await this.database.attempt((db) =>
        db
          .selectFrom('chunks')
          .select('bytes')
          .where('content_id', '=', id)
          .where('number', '=', number)
          .executeTakeFirstOrThrow(() => new Error('The content was removed while it was read.')),
      );
      read += bytes.length;
      yield bytes;
    }
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

async function* inChunks(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let gathered: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    gathered.push(piece);
    length += piece.length;
    if (length < CHUNK_BYTES) continue;
    yield Buffer.concat(gathered);
    gathered = [];
    length = 0;
  }
  if (length > 0) yield Buffer.concat(gathered);
}
