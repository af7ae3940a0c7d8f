import type { TurnFile } from 'nest-agent-query-client';
import { storageFull, unusedFilesExceeded } from '../contract/refusals.js';
import { type SentContent, UPLOAD_MS, UploadStore } from '../ports/upload-store.js';
import type { MemoryFileStore } from './memory-file-store.js';

interface Upload {
  /** What uses the content in place of a run. */
  user: string;
  owner: string;
  sha256: string;
  size: number;
  expiresAt: number;
}

/** Whether a run or a turn belongs to an owner and has a file with this digest. */
type HasFile = (owner: string, runId: string, sha256: string) => boolean;

/** The files that were sent before their query, in a `MemoryFileStore`. */
export class MemoryUploadStore extends UploadStore {
  /** By user and digest, in the order in which they expire. */
  readonly #uploads = new Map<string, Upload>();

  constructor(
    private readonly files: MemoryFileStore,
    private readonly hasFile: HasFile,
  ) {
    super();
  }

  async keep(owner: string, file: TurnFile, content: Blob, maxBytes: number): Promise<number> {
    const { sha256, size } = file;
    const user = userOf(owner);
    const isKnown = this.find(owner, sha256) !== undefined;
    await this.files.keep(user, sha256, content, true, !isKnown);
    const key = user + sha256;
    const before = this.#uploads.get(key);
    this.#uploads.delete(key);
    try {
      if (!this.files.content(user, sha256)) throw storageFull();
      if (this.unusedBytes(owner) + size > maxBytes) throw unusedFilesExceeded(maxBytes);
    } catch (error) {
      if (before) this.#uploads.set(key, before);
      else this.files.drop(user, sha256);
      throw error;
    }
    const expiresAt = Date.now() + UPLOAD_MS;
    this.#uploads.set(key, { user, owner, sha256, size, expiresAt });
    return expiresAt;
  }

  unusedBytes(owner: string): number {
    this.sweep();
    let bytes = 0;
    for (const upload of this.#uploads.values())
      if (upload.owner === owner && this.#isUnused(upload)) bytes += upload.size;
    return bytes;
  }

  find(owner: string, sha256: string): SentContent | undefined {
    this.sweep();
    for (const user of this.files.usersOf(sha256))
      if (user === userOf(owner) || this.hasFile(owner, user, sha256))
        return this.files.content(user, sha256);
    return undefined;
  }

  erase(owner: string): number {
    this.sweep();
    const erased = [...this.#uploads].filter(([, upload]) => upload.owner === owner);
    for (const [key, { user, sha256 }] of erased) {
      this.#uploads.delete(key);
      this.files.drop(user, sha256);
    }
    return erased.length;
  }

  /** Drops what has expired. */
  sweep(): void {
    for (const [key, { user, sha256, expiresAt }] of this.#uploads) {
      if (expiresAt > Date.now()) return;
      this.#uploads.delete(key);
      this.files.drop(user, sha256);
    }
  }

  /** Whether it is kept, and no run and no turn of its owner uses it. */
  #isUnused({ user, owner, sha256 }: Upload): boolean {
    for (const runId of this.files.usersOf(sha256)) if (this.hasFile(owner, runId, sha256)) return false;
    return this.files.content(user, sha256) !== undefined;
  }
}

/** No run has such an id. */
function userOf(owner: string): string {
  return `upload ${owner}`;
}
