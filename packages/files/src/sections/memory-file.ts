import type { FileSource } from '../file-source.js';

/** A file inside another one, which has been unpacked. */
export class MemoryFile implements FileSource {
  readonly size: number;

  /** @param outer the file that it comes from, whose time it shares */
  constructor(
    readonly name: string,
    private readonly content: Uint8Array,
    private readonly outer: FileSource,
    readonly mimeType = '',
  ) {
    this.size = content.length;
  }

  async read(start: number, end: number): Promise<Uint8Array> {
    this.checkTime();
    return this.content.subarray(start, end);
  }

  checkTime(): void {
    this.outer.checkTime();
  }
}
