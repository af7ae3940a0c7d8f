import type { SentFile } from 'nest-agent-query-client';
import { QueryError } from '../contract/errors.js';
import { fileNotFound, refusalOfFiles } from '../contract/refusals.js';
import { type BodyContent, filePartOf } from '../files/content.js';
import type { UploadStore } from '../ports/upload-store.js';
import { storedOwner } from '../sharing/owners.js';
import { draining } from './admissions.js';
import type { RunnerServices } from './runner-services.js';
import { mismatchesOf } from './submitted-query.js';

/** The files that callers send before the query that uses them. */
export class SentFiles {
  constructor(
    private readonly services: RunnerServices,
    private readonly isDraining: () => boolean,
  ) {}

  /**
   * Returns how many bytes of files that no query uses an owner may still send.
   *
   * @throws {QueryError} `draining` · `not_found`: the store does not keep such files · `unavailable`
   */
  async room(owner: string): Promise<number> {
    const { unusedBytesPerOwner } = this.services.settings.limits;
    return unusedBytesPerOwner - (await this.#store().unusedBytes(this.#stored(owner)));
  }

  /**
   * Keeps a file for its owner for an hour, and as long as a run or a session uses it.
   *
   * @param file with a name and a type as those of a part
   * @throws {QueryError} `invalid_query`: the option `rejectMismatchedTypes` · `draining` · `not_found`: see `room` ·
   * `rate_limited` · `storage_full` · `unavailable`
   */
  async keep(
    owner: string,
    { name, mimeType, content }: { name: string; mimeType: string; content: BodyContent },
  ): Promise<SentFile> {
    const { limits, rejectMismatchedTypes } = this.services.settings;
    const part = await filePartOf(content, name, mimeType);
    const [mismatch] = mismatchesOf({ parts: [part], kwargs: {} });
    if (mismatch !== undefined && rejectMismatchedTypes) throw new QueryError('invalid_query', mismatch);
    const { sha256, size } = content;
    const store = this.#store();
    try {
      const file = { type: 'file', name, mimeType, size, sha256 } as const;
      const expiresAt = await store.keep(this.#stored(owner), file, part.file, limits.unusedBytesPerOwner);
      return { sha256, size, name, mimeType, expiresAt: new Date(expiresAt).toISOString() };
    } catch (error) {
      throw refusalOfFiles(error);
    }
  }

  /** @throws {QueryError} `not_found`: the owner has not sent such a file, or it is no longer kept · `unavailable` */
  async find(owner: string, sha256: string): Promise<void> {
    const found = await this.services.store.uploads?.find(this.#stored(owner), sha256);
    if (!found) throw fileNotFound();
  }

  #store(): UploadStore {
    if (this.isDraining()) throw draining();
    const { uploads } = this.services.store;
    if (!uploads) throw new QueryError('not_found', 'This service takes files with their query only.');
    return uploads;
  }

  #stored(owner: string): string {
    return storedOwner(this.services.settings.name, owner);
  }
}
