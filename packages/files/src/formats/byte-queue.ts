/** Takes bytes in the sizes that a reader needs from chunks of any size. */
export class ByteQueue {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array();

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** The next bytes, at least one and at most `most`; none at the end. */
  async some(most: number): Promise<Uint8Array> {
    while (this.#chunk.length === 0) {
      const next = await this.#chunks.next();
      if (next.done) return this.#chunk;
      this.#chunk = next.value;
    }
    const taken = this.#chunk.subarray(0, most);
    this.#chunk = this.#chunk.subarray(taken.length);
    return taken;
  }

  /** So many bytes; fewer at the end. */
  async take(length: number): Promise<Uint8Array> {
    const first = await this.some(length);
    if (first.length === length) return first;
    const parts = [first];
    let left = length - first.length;
    while (left > 0) {
      const part = await this.some(left);
      if (part.length === 0) break;
      parts.push(part);
      left -= part.length;
    }
    return Buffer.concat(parts);
  }

  /** @returns how many bytes there were to leave out */
  async skip(length: number): Promise<number> {
    let skipped = 0;
    while (skipped < length) {
      const part = await this.some(length - skipped);
      if (part.length === 0) break;
      skipped += part.length;
    }
    return skipped;
  }

  /** Reads to the end. */
  async drain(): Promise<void> {
    while ((await this.some(Infinity)).length > 0);
  }
}
