import { performance } from 'node:perf_hooks';
import type { FileSource } from './file-source.js';
import { bytes } from './markdown.js';
import type { FileLabel } from './parser-protocol.js';
import { ReadingStopped } from './reading-stopped.js';
import { UnreadableFile } from './unreadable-file.js';

/** Bytes of one message: a larger range takes several, so that the service never copies much at once. */
const PIECE = 256 * 1024;

/** A file of the service, as a process of the pool reads it. It can be read until its time is over. */
export class RequestedFile implements FileSource {
  readonly name: string;
  readonly mimeType: string;
  readonly size: number;
  readonly #seconds: number;
  readonly #deadline: number;
  readonly #waiting = new Map<number, (bytes: Uint8Array | undefined) => void>();
  #lastId = 0;

  /**
   * @param seconds the time for this file, from now on
   * @param content the whole file, if it came with the request
   * @param request asks the service for the bytes from `start` up to, not including, `end`
   */
  constructor(
    { name, mimeType, size }: FileLabel,
    seconds: number,
    private readonly content: Uint8Array | undefined,
    private readonly request: (id: number, start: number, end: number) => void,
  ) {
    this.name = name;
    this.mimeType = mimeType;
    this.size = size;
    this.#seconds = seconds;
    this.#deadline = performance.now() + seconds * 1000;
  }

  /** The service sends the bytes that were requested; undefined if they are not available. */
  receive(id: number, bytes: Uint8Array | undefined): void {
    this.#waiting.get(id)?.(bytes);
    this.#waiting.delete(id);
  }

  checkTime(): void {
    if (performance.now() > this.#deadline) throw this.#tooSlow('');
  }

  async read(start: number, end: number): Promise<Uint8Array> {
    if (performance.now() > this.#deadline) {
      throw this.#tooSlow(`after ${bytes(start)} of ${bytes(this.size)}`);
    }
    if (this.content) return this.content.subarray(start, end);
    if (end - start <= PIECE) return this.#fetch(start, end);
    const whole = new Uint8Array(end - start);
    for (let at = start; at < end; at += PIECE) {
      whole.set(await this.#fetch(at, Math.min(end, at + PIECE)), at - start);
    }
    return whole;
  }

  async #fetch(start: number, end: number): Promise<Uint8Array> {
    const id = (this.#lastId += 1);
    const fetched = await new Promise<Uint8Array | undefined>((resolve) => {
      this.#waiting.set(id, resolve);
      this.request(id, start, end);
    });
    if (!fetched) throw new UnreadableFile('Its content is not available any more.');
    return fetched;
  }

  #tooSlow(where: string): ReadingStopped {
    return new ReadingStopped(where, `no more than ${secondsOf(this.#seconds)} are spent on it`);
  }
}

/** `1 second`, `20 seconds`, `0.001 seconds`. */
export function secondsOf(amount: number): string {
  const text = amount.toLocaleString('en-US', { maximumSignificantDigits: 2 });
  return `${text} ${text === '1' ? 'second' : 'seconds'}`;
}
