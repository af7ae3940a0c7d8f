import { FileStore } from '../ports/file-store.js';

interface Content {
  bytes: Uint8Array;
  runs: Set<string>;
}

/** Keeps contents of files in the memory of this process, within a limit: the oldest are dropped first. */
export class MemoryFileStore extends FileStore {
  /** In the order in which they were stored. */
  readonly #contents = new Map<string, Content>();
  readonly #runs = new Map<string, string[]>();
  #bytes = 0;

  /** @param maxBytes how much is kept. A content of more than a sixteenth of it is not kept */
  constructor(private readonly maxBytes: number) {
    super();
  }

  async keep(runId: string, sha256: string, content: Blob): Promise<void> {
    if (content.size > this.maxBytes / 16) return;
    const bytes = this.#contents.get(sha256)?.bytes ?? new Uint8Array(await content.arrayBuffer());
    // Another run may have stored the same content meanwhile.
    let kept = this.#contents.get(sha256);
    if (!kept) {
      kept = { bytes, runs: new Set() };
      this.#contents.set(sha256, kept);
      this.#bytes += bytes.length;
    }
    kept.runs.add(runId);
    this.#runs.set(runId, [...(this.#runs.get(runId) ?? []), sha256]);
    for (const oldest of this.#contents.keys()) {
      if (this.#bytes <= this.maxBytes) break;
      this.#drop(oldest);
    }
  }

  release(runId: string): void {
    for (const sha256 of this.#runs.get(runId) ?? []) {
      const content = this.#contents.get(sha256);
      content?.runs.delete(runId);
      if (content?.runs.size === 0) this.#drop(sha256);
    }
    this.#runs.delete(runId);
  }

  read(runId: string, sha256: string): AsyncIterable<Uint8Array> | undefined {
    const content = this.#contents.get(sha256);
    return content?.runs.has(runId) ? once(content.bytes) : undefined;
  }

  #drop(sha256: string): void {
    this.#bytes -= this.#contents.get(sha256)!.bytes.length;
    this.#contents.delete(sha256);
  }
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
