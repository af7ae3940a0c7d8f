import { readFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { constants, createGzip } from 'node:zlib';

/** The file of a key and its certificate, for 127.0.0.1 and localhost. It secures nothing: everybody has it. */
export const TLS_FILE = join(import.meta.dirname, '../fixtures/localhost-tls.pem');

/** What a proxy does besides passing on. */
export interface Faults {
  /** Collects an answer, and passes it on when it has ended. */
  collectsAnswers?: boolean;
  /** Collects a body, and passes it on when it has ended. */
  collectsBodies?: boolean;
  /** Passes a body on at once, and an answer only when the body has ended, as Apache and Varnish do. */
  holdsAnswers?: boolean;
  /** Compresses streams for clients that accept it, and sends what it has at once, or when it has enough. */
  compresses?: 'at once' | 'later';
  /** Says of streams that they are compressed, and does not compress them: for clients that accept it, or for all. */
  mislabels?: 'if accepted' | 'always';
  /** Compresses every answer, also for clients that do not accept it. */
  compressesAll?: boolean;
  /** Cuts a connection on which the service was silent for so long. */
  cutsSilentMs?: number;
  /** Cuts every answer after so long. */
  cutsAllMs?: number;
  /** Ends an answer that the service has cut as if it were complete. */
  completesCuts?: boolean;
  /** Reads an answer on for so long when its client has left. */
  staysMs?: number;
  /** Refuses longer bodies. */
  bodyBytes?: number;
  /** Removes these headers of requests. */
  drops?: string[];
  /** Sets these headers of requests. */
  sets?: Record<string, string>;
  /** Removes these headers of answers. */
  hides?: string[];
  /** Adds these headers to answers. */
  adds?: Record<string, string>;
  /** Removes this from the path of requests. */
  prefix?: string;
  /** Answers these paths itself, with these JSON documents. */
  answers?: Record<string, object>;
  /** Refuses requests with these methods. */
  refuses?: string[];
  /** Over HTTP/2: resets the stream of a request that is answered before its body has ended, and loses the answer. */
  losesRefusals?: boolean;
  /** Speaks https: HTTP/2 and HTTP/1.1, or HTTP/1.1 alone. */
  tls?: 'h2' | 'http/1.1';
}

/** A proxy before a service that has some of the faults that proxies have. */
export class FaultyProxy {
  readonly #server: http.Server | https.Server | http2.Http2SecureServer;
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly service: string,
    private readonly faults: Faults,
  ) {
    const pass = (request: http.IncomingMessage, response: http.ServerResponse) =>
      this.#pass(request, response);
    const pem = faults.tls && readFileSync(TLS_FILE);
    if (faults.tls === 'h2')
      this.#server = http2.createSecureServer({ key: pem, cert: pem, allowHTTP1: true }, pass as never);
    else if (pem) this.#server = https.createServer({ key: pem, cert: pem }, pass);
    else this.#server = http.createServer(pass);
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  static async before(service: string, faults: Faults): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(service, faults);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `${this.faults.tls ? 'https' : 'http'}://127.0.0.1:${port}${this.faults.prefix ?? ''}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(request: http.IncomingMessage, response: http.ServerResponse): void {
    const { refuses, bodyBytes, prefix = '', collectsBodies, holdsAnswers } = this.faults;
    if (refuses?.includes(request.method!)) return refuse(request, response, 405);
    const own = this.faults.answers?.[request.url!];
    if (own) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(own));
      return;
    }
    if (Number(request.headers['content-length']) > bodyBytes!) return refuse(request, response, 413);
    const headers = this.#requestHeaders(request);
    const passed = http.request(this.service + request.url!.slice(prefix.length), {
      method: request.method!,
      headers,
      agent: false,
    });
    passed.on('response', (answer) => this.#answer(request, answer, response));
    passed.on('error', () => response.destroy());
    const { staysMs = 0 } = this.faults;
    response.on('close', () => setTimeout(() => passed.destroy(), staysMs).unref());
    if (collectsBodies) void collected(request).then((body) => passed.end(body));
    else if (holdsAnswers) {
      // A pipeline stops at a large piece that comes after an answer which nobody reads.
      request.on('data', (bytes: Buffer) => void passed.write(bytes)).on('end', () => passed.end());
    } else pipeline(request, passed, () => undefined);
  }

  #requestHeaders({ headers }: http.IncomingMessage): http.OutgoingHttpHeaders {
    const { drops = [], sets = {} } = this.faults;
    const kept = Object.entries(headers).filter(([name]) => !name.startsWith(':') && !drops.includes(name));
    return { ...Object.fromEntries(kept), ...sets };
  }

  #answer(request: http.IncomingMessage, answer: http.IncomingMessage, response: http.ServerResponse): void {
    const {
      collectsAnswers,
      holdsAnswers,
      compresses,
      compressesAll,
      mislabels,
      cutsSilentMs,
      cutsAllMs,
      hides = [],
      adds = {},
    } = this.faults;
    if (holdsAnswers && !request.readableEnded)
      return void request.once('end', () => this.#answer(request, answer, response));
    const cut = () => void response.destroy();
    if (this.faults.losesRefusals && !request.complete) return cut();
    if (cutsAllMs !== undefined) timer(response, cutsAllMs, cut);
    if (cutsSilentMs !== undefined) cutWhenSilent(answer, response, cutsSilentMs);
    const headers: http.OutgoingHttpHeaders = { ...answer.headers, ...adds };
    for (const name of [...hides, 'connection', 'keep-alive', 'transfer-encoding']) delete headers[name];
    const isAccepted = /gzip/.test(request.headers['accept-encoding'] ?? '');
    const isStream = /event-stream/.test(headers['content-type'] as string);
    const flush = compresses === 'at once' || compressesAll ? constants.Z_SYNC_FLUSH : constants.Z_NO_FLUSH;
    const isCompressed = compressesAll || (compresses && isAccepted && isStream);
    const encoder = isCompressed ? createGzip({ flush }) : undefined;
    const isMislabelled = isStream && (mislabels === 'always' || (mislabels && isAccepted));
    if (encoder || isMislabelled) headers['content-encoding'] = 'gzip';
    if (encoder) delete headers['content-length'];
    if (collectsAnswers) {
      void collected(answer).then((body) => response.writeHead(answer.statusCode!, headers).end(body));
      return;
    }
    response.writeHead(answer.statusCode!, headers);
    response.flushHeaders?.();
    if (encoder) pipeline(answer, encoder, response, () => undefined);
    else this.#pipe(answer, response);
  }

  #pipe(answer: http.IncomingMessage, response: http.ServerResponse): void {
    const { completesCuts, staysMs } = this.faults;
    if (!completesCuts && staysMs === undefined) {
      pipeline(answer, response, () => undefined);
      return;
    }
    answer.pipe(response, { end: false });
    answer.on('error', () => undefined);
    answer.on('close', () => void (completesCuts || answer.complete ? response.end() : response.destroy()));
  }
}

/** A page, as proxies have it. It comes when the body was read: to a client that still writes, it might be lost. */
function refuse(request: http.IncomingMessage, response: http.ServerResponse, status: number): void {
  request.resume();
  request.on('end', () => response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>No</h1>'));
}

function cutWhenSilent(answer: http.IncomingMessage, response: http.ServerResponse, ms: number): void {
  let heard = performance.now();
  answer.on('data', () => (heard = performance.now()));
  const look = () => {
    if (performance.now() - heard >= ms) response.destroy();
  };
  // A process that was busy reads first what has arrived meanwhile.
  const timer = setInterval(() => setImmediate(look), ms / 20);
  response.on('close', () => clearInterval(timer));
}

function timer(response: http.ServerResponse, ms: number, act: () => void): void {
  const waiting = setTimeout(act, ms);
  response.on('close', () => clearTimeout(waiting));
}

async function collected(stream: http.IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of stream) pieces.push(piece as Buffer);
  } catch {
    // What was cut ends here.
  }
  return Buffer.concat(pieces);
}
