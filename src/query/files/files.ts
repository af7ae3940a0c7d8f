import { Logger } from '@nestjs/common';
import { AnswerFiles } from './answer-files.js';
import { BodyContent } from './content.js';
import type { Spool } from './spool.js';
import { QueryError } from '../contract/errors.js';
import type { BodyLimits } from '../options/table.js';
import type { Query, QueryPart } from '../ports/agent-handler.js';
import type { ByteRange, ContentFile, FileStore } from '../ports/file-store.js';
import type { RunRecord, RunStore } from '../ports/run-store.js';
import type { TurnFile, TurnText } from 'nest-agent-query-client';
import { textForLog } from '../platform/text-for-log.js';

const logger = new Logger('Query');

/** Moves the files of queries between the store that keeps them and the handlers that read them. */
export class Files {
  readonly #besides = new Map<string, Promise<unknown>>();

  /**
   * @param limits of the files of a query, and of those of an answer. A file up to `memoryBytes` is read into memory, a larger
   * one is opened as a file
   */
  constructor(
    private readonly contents: FileStore,
    private readonly spool: Spool,
    private readonly limits: BodyLimits,
  ) {}

  /**
   * Keeps the files of a query for a run. If one file cannot be kept, none is.
   *
   * @param isAdmitted whether the run was admitted. Otherwise it is about to be
   * @returns whether the query has files
   * @throws {QueryError} `storage_full` · `unavailable`
   */
  async keep(runId: string, query: Query, isAdmitted = false): Promise<boolean> {
    const files = query.parts.filter((part) => part.type === 'file');
    try {
      for (const { sha256, file } of files) await this.contents.keep(runId, sha256, file, isAdmitted);
    } catch (error) {
      await this.release(runId);
      throw error;
    }
    return files.length > 0;
  }

  /**
   * Keeps the files of a query for downloads, beside the run, which does not wait for it. A failure is logged: then they cannot be
   * downloaded.
   */
  keepBeside(runId: string, query: Query): void {
    const kept = this.keep(runId, query, true)
      .catch((error: Error) =>
        logger.warn(`Run ${runId}: its files cannot be downloaded: ${textForLog(error.message)}`),
      )
      .finally(() => this.#besides.delete(runId));
    this.#besides.set(runId, kept);
  }

  /** Resolves when nothing of a run is being kept beside it in this process. */
  async settled(runId: string): Promise<void> {
    await this.#besides.get(runId);
  }

  /** Tells the store that the run was not admitted. Never rejects: the store's sweep removes what is left. */
  async release(runId: string): Promise<void> {
    try {
      await this.contents.release(runId);
    } catch {
      // The database is unavailable.
    }
  }

  read(runId: string, sha256: string, range?: ByteRange): ReturnType<FileStore['read']> {
    return this.contents.read(runId, sha256, range);
  }

  async keepOfAnswer(store: RunStore, run: RunRecord, file: TurnFile, content: Blob): Promise<void> {
    if (!store.files) await this.contents.keep(run.id, file.sha256, content, true);
    await store.saveFile(run, file, content);
  }

  ofAnswer(): AnswerFiles {
    return new AnswerFiles(this.limits, this.spool);
  }

  /** Restores the parts of a query as its handler receives them: see `open`. */
  async restore(runId: string, parts: (TurnText | TurnFile)[], opened: OpenedFiles): Promise<QueryPart[]> {
    const restored: QueryPart[] = [];
    for (const part of parts) {
      if (part.type === 'text') {
        restored.push({ ...part });
      } else {
        const { name, mimeType, sha256 } = part;
        restored.push({ type: 'file', name, mimeType, sha256, file: await this.open(runId, part, opened) });
      }
    }
    return restored;
  }

  /**
   * Opens a file of a run or a turn. It can be read any number of times until `opened` is closed.
   *
   * @throws {QueryError} `not_found`: the file is no longer kept · `unavailable`
   */
  async open(runId: string, { name, mimeType, size, sha256 }: TurnFile, opened: OpenedFiles): Promise<File> {
    const source = await this.#fetch(runId, sha256, size > this.limits.memoryBytes);
    if (!source) throw new QueryError('not_found', `The file ${JSON.stringify(name)} is no longer kept.`);
    const content = new BodyContent(size, sha256, source);
    opened.add(content);
    return content.file(name, mimeType);
  }

  async #fetch(runId: string, sha256: string, isLarge: boolean): Promise<Buffer | ContentFile | undefined> {
    const file = isLarge ? await this.contents.open?.(runId, sha256) : undefined;
    if (file) return file;
    const bytes = await this.contents.read(runId, sha256);
    if (!bytes) return undefined;
    if (isLarge) return this.spool.write(bytes);
    const chunks: Uint8Array[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
}

/** The files that a run has opened. They are removed when the run no longer needs them. */
export class OpenedFiles {
  #contents: BodyContent[] = [];
  #isClosed = false;

  add(content: BodyContent): void {
    this.#contents.push(content);
    if (this.#isClosed) this.close();
  }

  /** Removes all files, and those that are added later. Does not wait for it; a failure is logged. Can be called again. */
  close(): void {
    this.#isClosed = true;
    for (const content of this.#contents) {
      content.discard().catch((error: Error) => {
        logger.warn(`A temporary file of a query could not be removed: ${textForLog(error.message)}`);
      });
    }
    this.#contents = [];
  }
}
