import { createReadStream } from 'node:fs';
import { dirname } from 'node:path';
import { linkFile } from '../files/link-file.js';
import { Spool, type SpoolFile } from '../files/spool.js';
import { type Awaitable, bytesIn, type ByteRange, type ContentFile, FileStore } from '../ports/file-store.js';
import type { SentContent } from '../ports/upload-store.js';

/** A content of more than this share of the limit is in a temporary file. */
const LARGE = 1 / 16;

/** The temporary files have so many times the limit for memory. */
const DISK = 16;

interface Content {
  size: number;
  source: Uint8Array | SpoolFile;
  runs: Set<string>;
}

/**
 * Keeps contents of files in the memory of this process, and large ones in temporary files, within a limit for each: the oldest are
 * dropped first.
 */
export class MemoryFileStore extends FileStore {
  /** In the order in which they were stored. */
  readonly #contents = new Map<string, Content>();
  /** The digests of the contents that a run or its turn uses. */
  readonly #uses = new Map<string, Set<string>>();
  readonly #bytes = { memory: 0, disk: 0 };
  /** Where the temporary files are. Default: in the system's directory for temporary files. */
  spoolDirectory: string | undefined;
  #spool: Promise<Spool> | undefined;

  /** @param maxBytes how much is kept in memory; sixteen times as much in temporary files */
  constructor(private readonly maxBytes: number) {
    super();
  }

  /** @param isWritten whether the content is written also if it is there already. Default false */
  async keep(
    runId: string,
    sha256: string,
    content: Blob,
    _isAdmitted?: boolean,
    isWritten = false,
  ): Promise<void> {
    const uses = this.#uses.get(runId) ?? new Set();
    this.#uses.set(runId, uses.add(sha256));
    if (isWritten || !this.#contents.has(sha256)) await this.#store(sha256, content);
    // The run may have been released meanwhile, or another one may have stored the same content.
    if (this.#uses.get(runId)?.has(sha256)) this.#contents.get(sha256)?.runs.add(runId);
    this.#dropUnused(sha256);
    this.#dropOldest();
  }

  release(runId: string): void {
    const digests = this.#uses.get(runId) ?? [];
    this.#uses.delete(runId);
    for (const sha256 of digests) this.drop(runId, sha256);
  }

  read(runId: string, sha256: string, range?: ByteRange): AsyncIterable<Uint8Array> | undefined {
    const content = this.#contents.get(sha256);
    return content?.runs.has(runId) ? readSource(content, range) : undefined;
  }

  override open(runId: string, sha256: string): Awaitable<ContentFile | undefined> {
    return this.content(runId, sha256)?.open?.();
  }

  /** A content that a run uses; undefined if it is not kept. */
  content(runId: string, sha256: string): SentContent | undefined {
    const content = this.#contents.get(sha256);
    if (!content?.runs.has(runId)) return undefined;
    return { size: content.size, read: () => readSource(content), open: () => openSource(content) };
  }

  /** What uses a content: runs, their turns, and uploads. */
  usersOf(sha256: string): Iterable<string> {
    return this.#contents.get(sha256)?.runs ?? [];
  }

  /** One use of a content is over. */
  drop(runId: string, sha256: string): void {
    this.#uses.get(runId)?.delete(sha256);
    this.#contents.get(sha256)?.runs.delete(runId);
    this.#dropUnused(sha256);
  }

  async close(): Promise<void> {
    await (await this.#spool)?.close();
  }

  async #store(sha256: string, content: Blob): Promise<void> {
    const { size } = content;
    if (size > DISK * this.maxBytes) return;
    const isLarge = size > LARGE * this.maxBytes;
    const source = isLarge ? await this.#spooled(content) : new Uint8Array(await content.arrayBuffer());
    if (this.#contents.has(sha256)) {
      if (!(source instanceof Uint8Array)) await source.remove();
      return;
    }
    this.#contents.set(sha256, { size, source, runs: new Set() });
    this.#bytes[isLarge ? 'disk' : 'memory'] += size;
  }

  async #spooled(content: Blob): Promise<SpoolFile> {
    this.#spool ??= Spool.open(this.spoolDirectory);
    return (await this.#spool).write(content.stream());
  }

  #dropUnused(sha256: string): void {
    if (this.#contents.get(sha256)?.runs.size === 0) this.#drop(sha256);
  }

  #dropOldest(): void {
    for (const [sha256, { source }] of this.#contents) {
      const isInMemory = this.#bytes.memory > this.maxBytes;
      const isOnDisk = this.#bytes.disk > DISK * this.maxBytes;
      if (!isInMemory && !isOnDisk) return;
      if (source instanceof Uint8Array ? isInMemory : isOnDisk) this.#drop(sha256);
    }
  }

  #drop(sha256: string): void {
    const { size, source } = this.#contents.get(sha256)!;
    this.#contents.delete(sha256);
    const isInMemory = source instanceof Uint8Array;
    this.#bytes[isInMemory ? 'memory' : 'disk'] -= size;
    if (!isInMemory) source.remove().catch(() => undefined);
  }
}

function readSource({ source }: Content, range?: ByteRange): AsyncIterable<Uint8Array> {
  return source instanceof Uint8Array ? bytesIn(source, range) : createReadStream(source.path, range);
}

function openSource({ source }: Content): Awaitable<ContentFile | undefined> {
  return source instanceof Uint8Array ? undefined : linkFile(source.path, dirname(source.path));
}
