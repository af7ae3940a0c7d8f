import { Logger } from '@nestjs/common';
import { FileContent } from './contents.js';
import type { Spool, SpoolFile } from './spool.js';
import { QueryError } from '../contract/errors.js';
import type { FilePart, Query, QueryPart } from '../ports/agent-handler.js';
import type { FileStore } from '../ports/file-store.js';
import type { TurnFile, TurnText } from '../contract/wire.js';

/** A file up to this size is read into memory, a larger one into the spool. */
const MEMORY_BYTES = 64 * 1024;

/** The files of queries, between the store that keeps them and the handlers that read them. */
export class Files {
  constructor(
    private readonly store: FileStore,
    private readonly spool: Spool,
  ) {}

  /** Has the files of a query kept for a run that is about to be admitted. Returns whether there were any. */
  async keep(runId: string, query: Query): Promise<boolean> {
    const files = query.parts.filter((part) => part.type === 'file');
    try {
      for (const { sha256, file } of files) await this.store.keep(runId, sha256, file);
    } catch (error) {
      await this.release(runId);
      throw error;
    }
    return files.length > 0;
  }

  /** The run was not admitted. Never rejects: what is left is swept. */
  async release(runId: string): Promise<void> {
    try {
      await this.store.release(runId);
    } catch {
      // The database is away.
    }
  }

  /**
   * The parts of a query as its handler was to be given them, out of what is kept of them.
   *
   * @throws {QueryError} `not_found`: a file is no longer kept · `unavailable`
   */
  async restore(runId: string, parts: (TurnText | TurnFile)[], opened: OpenedFiles): Promise<QueryPart[]> {
    const restored: QueryPart[] = [];
    for (const part of parts) {
      if (part.type === 'text') restored.push({ ...part });
      else restored.push(await this.#filePart(runId, part, opened));
    }
    return restored;
  }

  /**
   * A file of a run or a turn, to be read any number of times until `opened` is closed.
   *
   * @throws {QueryError} `not_found`: it is no longer kept · `unavailable`
   */
  async open(runId: string, { name, mimeType, size, sha256 }: TurnFile, opened: OpenedFiles): Promise<File> {
    const bytes = await this.store.read(runId, sha256);
    if (!bytes) throw new QueryError('not_found', `The file ${JSON.stringify(name)} is no longer kept.`);
    const content = new FileContent(size, sha256, await this.#fetch(bytes, size));
    opened.add(content);
    return content.file(name, mimeType);
  }

  async #filePart(runId: string, file: TurnFile, opened: OpenedFiles): Promise<FilePart> {
    const { name, mimeType, sha256 } = file;
    return { type: 'file', name, mimeType, sha256, file: await this.open(runId, file, opened) };
  }

  async #fetch(bytes: AsyncIterable<Uint8Array>, size: number): Promise<Buffer | SpoolFile> {
    if (size <= MEMORY_BYTES) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of bytes) chunks.push(chunk);
      return Buffer.concat(chunks);
    }
    const file = this.spool.file();
    try {
      for await (const chunk of bytes) await file.write(chunk);
      await file.close();
      return file;
    } catch (error) {
      await file.remove();
      throw error;
    }
  }
}

/** The files that a run has opened. They are given up with it. */
export class OpenedFiles {
  static readonly #logger = new Logger('Query');
  #contents: FileContent[] = [];
  #closed = false;

  add(content: FileContent): void {
    this.#contents.push(content);
    if (this.#closed) this.close();
  }

  /** What is opened later is given up at once. */
  close(): void {
    this.#closed = true;
    for (const content of this.#contents) {
      content.discard().catch((error: Error) => {
        OpenedFiles.#logger.warn(`A file could not be removed: ${error.message}`);
      });
    }
    this.#contents = [];
  }
}
