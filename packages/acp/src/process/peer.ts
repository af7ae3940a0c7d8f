import type { Buffer } from 'node:buffer';
import type { Readable, Writable } from 'node:stream';
import { JsonLines } from './json-lines.js';

export type JsonRpcId = string | number | null;

/** The agent has answered a request with an error. */
export class RpcError extends Error {
  override readonly name = 'RpcError';

  constructor(
    readonly code: number,
    message: string,
    readonly data: unknown,
    /** The method that was refused. */
    readonly method: string,
  ) {
    super(message);
  }
}

/** The connection to the agent is closed, so nothing more is answered. */
export class PeerClosed extends Error {
  override readonly name = 'PeerClosed';
}

/** What the other side sends. Each is called before the next line is read. */
export interface PeerHandlers {
  notification(method: string, params: unknown): void;
  /** Answered later, with `reply` or `refuse`. */
  request(id: JsonRpcId, method: string, params: unknown): void;
  /** A line that is no JSON-RPC. */
  noise(line: string): void;
}

interface Waiting {
  method: string;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

interface Message {
  jsonrpc?: unknown;
  id?: JsonRpcId;
  method?: unknown;
  params?: unknown;
  result?: unknown;
  error?: { code?: unknown; message?: unknown; data?: unknown };
}

/** One side of a conversation in JSON-RPC 2.0, one message a line. */
export class Peer {
  readonly closed: Promise<void>;
  readonly #lines: JsonLines;
  readonly #waiting = new Map<JsonRpcId, Waiting>();
  #nextId = 0;
  #failure: Error | undefined;
  #resolveClosed: (() => void) | undefined;

  /** @param limits `lineLength`: the most bytes of a line. A longer one closes the connection */
  constructor(
    private readonly io: { input: Readable; output: Writable },
    private readonly handlers: PeerHandlers,
    limits: { lineLength: number },
  ) {
    this.#lines = new JsonLines(limits.lineLength);
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve));
    const { input, output } = io;
    input.on('data', (bytes: Buffer) => this.#read(bytes));
    for (const event of ['end', 'close', 'error'])
      input.on(event, () => this.close(new PeerClosed('The agent has closed its output.')));
    output.on('error', () => undefined);
  }

  /**
   * Sends a request.
   *
   * @param signal gives the answer up
   * @throws {RpcError} the answer is an error · {PeerClosed} · the reason of the signal
   */
  request(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    if (this.#failure) return Promise.reject(this.#failure);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.delete(id);
        reject(signal!.reason as Error);
      };
      const settled = () => signal?.removeEventListener('abort', giveUp);
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#waiting.set(id, {
        method,
        resolve: (result) => (settled(), resolve(result)),
        reject: (error) => (settled(), reject(error)),
      });
      this.#send({ id, method, params });
    });
  }

  notify(method: string, params: object): void {
    this.#send({ method, params });
  }

  reply(id: JsonRpcId, result: unknown): void {
    this.#send({ id, result });
  }

  refuse(id: JsonRpcId, code: number, message: string): void {
    this.#send({ id, error: { code, message } });
  }

  /** Nothing more is read until `resume`. */
  pause(): void {
    this.io.input.pause();
  }

  resume(): void {
    this.io.input.resume();
  }

  /** Fails what waits. Can be called again. */
  close(failure: Error): void {
    if (this.#failure) return;
    this.#failure = failure;
    for (const waiting of this.#waiting.values()) waiting.reject(failure);
    this.#waiting.clear();
    // What it still writes must not block it.
    this.io.input.resume();
    this.#resolveClosed?.();
  }

  #send(message: object): void {
    if (!this.#failure) this.io.output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
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
    const message = messageOf(line);
    if (!message) {
      if (line.trim() !== '') this.handlers.noise(line);
      return;
    }
    const { id, method, params, result, error } = message;
    if (typeof method === 'string') {
      if (id === undefined) this.handlers.notification(method, params);
      else this.handlers.request(id, method, params);
      return;
    }
    const waiting = this.#waiting.get(id ?? null);
    if (!waiting) return;
    this.#waiting.delete(id ?? null);
    if (error) waiting.reject(errorOf(error, waiting.method));
    else waiting.resolve(result);
  }
}

function messageOf(line: string): Message | undefined {
  try {
    const message = JSON.parse(line) as Message | null;
    return message?.jsonrpc === '2.0' ? message : undefined;
  } catch {
    return undefined;
  }
}

function errorOf({ code, message, data }: NonNullable<Message['error']>, method: string): RpcError {
  return new RpcError(Number(code), String(message), data, method);
}
