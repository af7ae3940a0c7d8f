import type { Buffer } from 'node:buffer';
import type { Readable, Writable } from 'node:stream';
import { JsonLines } from './json-lines.js';
import { errorOf, type JsonRpcId, messageOf } from './messages.js';

export { type JsonRpcId, RpcError } from './messages.js';

/** The connection to the agent is closed, so nothing more is answered. */
export class PeerClosed extends Error {
  override readonly name = 'PeerClosed';
}

/** What the other side sends. Each is called before the next line is read. */
export interface PeerHandlers {
  notification(method: string, params: unknown): void;
  /** Answered later, with `reply` or `refuse`. */
  request(id: JsonRpcId, method: string, params: unknown): void;
  /** A line that is no JSON-RPC: its first 1,000 characters. It is not answered. */
  noise(line: string): void;
}

const NOISE_LENGTH = 1_000;

interface Waiting {
  method: string;
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

/** One side of a conversation in JSON-RPC 2.0, one message a line. */
export class Peer {
  /** Resolves when nothing more is read and answered. */
  readonly closed: Promise<void>;
  readonly #lines: JsonLines;
  readonly #waiting = new Map<JsonRpcId, Waiting>();
  #nextId = 0;
  #failure: Error | undefined;
  #close!: () => void;

  /**
   * @param limits `lineLength`: the most characters of a line, and the most bytes that the other side has not read yet when more is
   * sent. Beyond either the connection closes
   */
  constructor(
    private readonly io: { input: Readable; output: Writable },
    private readonly handlers: PeerHandlers,
    private readonly limits: { lineLength: number },
  ) {
    this.#lines = new JsonLines(limits.lineLength);
    this.closed = new Promise((resolve) => (this.#close = resolve));
    const { input, output } = io;
    input.on('data', (bytes: Buffer) => this.#read(bytes));
    for (const event of ['end', 'close', 'error'])
      input.on(event, () => this.close(new PeerClosed('The agent has closed its output.')));
    // Why it reads no more is known by its end.
    output.on('error', () => undefined);
  }

  /**
   * Sends a request. Its answer is delivered when all that was written before it has been handled.
   *
   * @param signal gives the answer up; the other side is not told
   * @param answered is called before the next line is handled, also where the connection is closed instead
   * @throws {RpcError} the answer is an error · {PeerClosed} · {RangeError} a line was too long · the reason of the signal
   */
  request(method: string, params: object, signal?: AbortSignal, answered?: () => void): Promise<unknown> {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    if (this.#failure) return Promise.reject(this.#failure);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.delete(id);
        reject(signal!.reason as Error);
      };
      const settled = () => {
        signal?.removeEventListener('abort', giveUp);
        answered?.();
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#waiting.set(id, {
        method,
        resolve: (result) => (settled(), resolve(result)),
        reject: (error) => (settled(), reject(error)),
      });
      this.#send({ id, method, params });
    });
  }

  /** Does nothing when the connection is closed, as `reply` and `refuse` do. */
  notify(method: string, params: object): void {
    this.#send({ method, params });
  }

  /** @param result null if there is nothing to say */
  reply(id: JsonRpcId, result: unknown): void {
    this.#send({ id, result });
  }

  refuse(id: JsonRpcId, code: number, message: string): void {
    this.#send({ id, error: { code, message } });
  }

  /** Nothing more is read until `resume`, but the lines of what has arrived already are handed over. */
  pause(): void {
    if (!this.#failure) this.io.input.pause();
  }

  resume(): void {
    this.io.input.resume();
  }

  /** Fails what waits. Can be called again. */
  close(failure: Error): void {
    if (this.#failure) return;
    this.#failure = failure;
    for (const { reject } of this.#waiting.values()) reject(failure);
    this.#waiting.clear();
    // What it still writes must not block it.
    this.io.input.resume();
    this.#close();
  }

  #send(message: object): void {
    if (this.#failure) return;
    const { output } = this.io;
    if (output.writableLength > this.limits.lineLength)
      return this.close(new PeerClosed('The agent does not read what it is sent.'));
    output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #read(bytes: Buffer): void {
    if (this.#failure) return;
    try {
      this.#lines.add(bytes, (line) => this.#take(line));
    } catch (error) {
      this.close(error as Error);
    }
  }

  #take(line: string): void {
    // A line before it in the same bytes may have closed the connection.
    if (this.#failure) return;
    const message = messageOf(line);
    if (!message) {
      if (line.trim() !== '') this.handlers.noise(line.slice(0, NOISE_LENGTH));
      return;
    }
    const { id, method, params, result, error } = message;
    if (method !== undefined) {
      if (id === undefined) this.handlers.notification(method, params);
      else this.handlers.request(id, method, params);
      return;
    }
    // An answer that was given up, or that nobody has asked for, has nobody to go to.
    const waiting = this.#waiting.get(id ?? null);
    if (!waiting) return;
    this.#waiting.delete(id ?? null);
    if (error === undefined || error === null) waiting.resolve(result);
    else waiting.reject(errorOf(error, waiting.method));
  }
}
