import type http from 'node:http';
import type { Envelope } from '../script.js';
import { printable, Unmet } from '../unmet.js';
import { type Frame, type Profile, type Reading, readFrames } from './frames.js';

/** No answer of the checks is nearly as long. What a service sends without an end must not fill the memory. */
const MAX_BYTES = 32 * 1024 * 1024;

/** A response as its bytes arrive. Every wait ends after a time limit, with what was seen until then. */
export class Reply {
  readonly #pieces: Buffer[] = [];
  #length = 0;
  #hasEnded = false;
  #changed = () => {};

  /** @param waitMs the longest wait for anything, in milliseconds */
  constructor(
    private readonly response: http.IncomingMessage,
    private readonly waitMs: number,
    isReading: boolean,
  ) {
    response.on('error', () => undefined);
    response.on('close', () => {
      this.#hasEnded = true;
      this.#changed();
    });
    if (isReading) this.read();
  }

  get status(): number {
    return this.response.statusCode!;
  }

  get headers(): http.IncomingHttpHeaders {
    return this.response.headers;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  /** Whether the response has ended or was cut. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Begins to read what arrives. */
  read(): void {
    this.response.on('data', (piece: Buffer) => {
      this.#pieces.push(piece);
      this.#length += piece.length;
      if (this.#length > MAX_BYTES) this.cut();
      this.#changed();
    });
  }

  /** Cuts the connection. */
  cut(): void {
    this.response.destroy();
  }

  /** Waits until a condition holds. */
  async until(condition: () => boolean, expected: string): Promise<void> {
    const end = performance.now() + this.waitMs;
    while (!condition()) {
      if (this.#hasEnded) throw new Unmet(expected, `the response ended after ${this.#lastBytes()}`);
      const left = end - performance.now();
      if (left <= 0)
        throw new Unmet(expected, `${this.#lastBytes()}, and no more within ${this.waitMs / 1_000} s`);
      await this.#change(left);
    }
  }

  /** Waits until an event with this text has arrived, in part or whole. */
  untilText(text: string): Promise<void> {
    return this.until(() => this.bytes.includes(text), `an event with ${JSON.stringify(text)}`);
  }

  /** Waits for the end of the response. */
  async whole(): Promise<Buffer> {
    await this.until(() => this.#hasEnded, 'the end of the response');
    if (!this.response.complete) throw new Unmet('a whole response', `it was cut after ${this.#lastBytes()}`);
    return this.bytes;
  }

  async text(): Promise<string> {
    return (await this.whole()).toString();
  }

  async json<T = Record<string, unknown>>(): Promise<T> {
    const text = await this.text();
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new Unmet('a body of JSON', `status ${this.status}, ${printable(text)}`);
    }
  }

  /** What a stream has been so far. */
  reading(profile: Profile): Reading {
    return readFrames(this.bytes, profile, this.#hasEnded && this.response.complete);
  }

  /** The frames of a whole stream in the full profile. */
  async frames(): Promise<Frame[]> {
    await this.whole();
    return this.reading('full').frames;
  }

  /** The envelopes of a whole stream. */
  async envelopes(profile: Profile = 'plain'): Promise<Envelope[]> {
    await this.whole();
    return this.reading(profile).frames.map(({ envelope }) => envelope);
  }

  #lastBytes(): string {
    if (this.#length === 0) return 'nothing';
    return `${this.#length} bytes, the last of them ${printable(this.bytes.subarray(-200).toString())}`;
  }

  async #change(ms: number): Promise<void> {
    let timer: NodeJS.Timeout;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
      this.#changed = resolve;
    });
    clearTimeout(timer!);
    this.#changed = () => {};
  }
}
