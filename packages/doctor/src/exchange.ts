import http from 'node:http';
import https from 'node:https';
import { decoded, encodingOf, MAX_BYTES, type Piece } from './content-encoding.js';
import type { Target, Through } from './target.js';

/** The head of a response. */
export interface Head {
  status: number;
  /** Names in lower case. */
  headers: http.IncomingHttpHeaders;
  /** Milliseconds since the request began. */
  atMs: number;
}

/** A response as its bytes came. */
export interface Exchange {
  head: Head | undefined;
  /** Without their compression; as they came where they are not compressed as the header claims. */
  pieces: Piece[];
  /** Whether its bytes are not compressed as the header claims. */
  isMislabelled: boolean;
  /** `whole`: it ended as HTTP says. `cut`: the connection closed before. `stopped`: the doctor has read enough. */
  end: 'whole' | 'cut' | 'stopped';
  /** Milliseconds since the request began. */
  endMs: number;
  /** Why the connection failed, if it did. */
  error: NodeJS.ErrnoException | undefined;
  /** Whether what has answered is on the machine of the doctor. */
  isOnThisMachine: boolean;
}

/** What a request has. */
export interface RequestOptions {
  method: string;
  path: string;
  headers?: Record<string, string>;
  /** Writes the body. Default: there is none. */
  write?: (request: http.ClientRequest) => void | Promise<void>;
  /** After so many milliseconds the doctor stops reading. */
  limitMs: number;
  /** Stops reading as soon as it returns true. Called with each piece. */
  isEnough?: (exchange: Exchange) => boolean;
}

/** The service never refuses with more bytes. Another server might, without an end. */
const REFUSAL_BYTES = 64 * 1024;

/** Records a response while it comes. */
export class Recording {
  readonly exchange: Exchange = {
    head: undefined,
    pieces: [],
    isMislabelled: false,
    end: 'cut',
    endMs: 0,
    error: undefined,
    isOnThisMachine: false,
  };
  readonly ended: Promise<Exchange>;
  #resolve!: () => void;
  readonly #timer: NodeJS.Timeout;
  readonly #start = performance.now();
  #length = 0;
  #hasEnded = false;

  /**
   * @param limitMs after so many milliseconds the doctor stops reading
   * @param close closes the connection
   */
  constructor(
    limitMs: number,
    private readonly close: () => void,
  ) {
    const over = new Promise<void>((resolve) => (this.#resolve = resolve));
    this.ended = over.then(() => this.#decode());
    this.#timer = setTimeout(() => this.end('stopped'), limitMs);
  }

  head(status: number, headers: http.IncomingHttpHeaders): Head {
    return (this.exchange.head = { status, headers, atMs: performance.now() - this.#start });
  }

  piece(bytes: Buffer): void {
    this.exchange.pieces.push({ atMs: performance.now() - this.#start, bytes });
    const { status } = this.exchange.head!;
    if ((this.#length += bytes.length) > (status < 300 ? MAX_BYTES : REFUSAL_BYTES)) this.end('stopped');
  }

  /** The first error counts. */
  fail(error: NodeJS.ErrnoException): void {
    this.exchange.error ??= error;
  }

  end(end: Exchange['end']): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    Object.assign(this.exchange, { end, endMs: performance.now() - this.#start });
    this.close();
    this.#resolve();
  }

  async #decode(): Promise<Exchange> {
    const { exchange } = this;
    try {
      exchange.pieces = await decoded(exchange.pieces, encodingOf(exchange.head?.headers));
    } catch {
      exchange.isMislabelled = true;
    }
    return exchange;
  }
}

/** Sends one request over HTTP/1.1 on a connection of its own, and reads the response. It never rejects. */
export function exchange(target: Target, options: RequestOptions): Promise<Exchange> {
  const { origin } = target;
  const { method, path, headers, write, limitMs, isEnough } = options;
  const { request: open } = origin.protocol === 'https:' ? https : http;
  const { through } = target;
  const url = new URL(path, origin);
  const relayed = through?.relayed(url);
  const request = open(url, {
    method,
    ...(through && !relayed ? { createConnection: connectionThrough(through, url) } : { agent: false }),
    ...relayed,
    // Node would forget the second `Server`, which is another proxy.
    joinDuplicateHeaders: true,
    headers: { ...target.headers, ...headers, ...(relayed?.headers as http.OutgoingHttpHeaders) },
  });
  const recording = new Recording(limitMs, () => request.destroy());
  request.on('error', (error) => {
    recording.fail((relayed && through?.failureOf(error)) ?? error);
    if (!recording.exchange.head) recording.end('cut');
  });
  request.on('response', (response) => {
    recording.head(response.statusCode!, response.headers);
    const { localAddress, remoteAddress } = response.socket;
    recording.exchange.isOnThisMachine = localAddress === remoteAddress;
    response.on('data', (bytes: Buffer) => {
      recording.piece(bytes);
      if (isEnough?.(recording.exchange)) recording.end('stopped');
    });
    response.on('error', (error) => recording.fail(error));
    response.on('close', () => recording.end(response.complete ? 'whole' : 'cut'));
  });
  if (write) void Promise.resolve(write(request)).catch(() => undefined);
  else request.end();
  return recording.ended;
}

function connectionThrough(through: Through, url: URL): NonNullable<http.RequestOptions['createConnection']> {
  return (_options, callback) => {
    through.open(url, ['http/1.1']).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, undefined as never),
    );
    return undefined;
  };
}

/** The body of a response as text. */
export function textOf({ pieces }: Exchange): string {
  return Buffer.concat(pieces.map(({ bytes }) => bytes)).toString();
}
