import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';

/** The certificates of tests are signed by nobody. */
const TRUSTING = { rejectUnauthorized: false };

/**
 * A request through a proxy, and what comes of it.
 *
 * A target is where requests go: `url`, and for a forward proxy `through`, its own address.
 */
export class Exchange {
  /** Status and headers of the answer, once they are there. */
  head;
  /** The text of the answer so far. */
  text = '';
  /** How many bytes of the body were sent so far. */
  sent = 0;
  /** Whether the connection speaks HTTP/2. */
  isHttp2 = false;
  /** How it ended: `complete`, or `cut` if the connection was closed before the end of the answer. */
  end;
  /** When it ended, in milliseconds after its begin. */
  endedAfter;
  #began = performance.now();
  #request;
  #session;
  #listeners = new Set();

  /**
   * @param options `method` (default POST), `path` (default /query), `headers`, and `isHttp2`
   * @param body a text, or an iterable of buffers, which is left when an answer has come
   */
  constructor(target, { isHttp2 = false, ...options }, body = []) {
    this.#request = isHttp2 ? this.#open2(target, options) : this.#open1(target, options);
    this.#request.on('error', () => this.#over('cut'));
    this.#request.on('close', () => this.#over('cut'));
    void this.#write(typeof body === 'string' ? [Buffer.from(body)] : body);
  }

  /** Waits until a condition holds, the exchange has ended, or a time has passed. Resolves with whether the condition holds. */
  async until(condition, withinMs) {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#tell();
    }, withinMs);
    while (!condition() && this.end === undefined && !isLate) await this.#news();
    clearTimeout(timer);
    return condition();
  }

  /** Waits for the end. Resolves with how it ended, or undefined after a time. */
  async ended(withinMs) {
    await this.until(() => this.end !== undefined, withinMs);
    return this.end;
  }

  /** Closes the connection, as a caller does who leaves. */
  leave() {
    this.#request.destroy();
    this.#session?.destroy();
  }

  #open1({ url, through }, { method = 'POST', path = '/query', headers }) {
    const absolute = new URL(path, url);
    const isSecure = absolute.protocol === 'https:' && !through;
    const { hostname, port } = new URL(through ?? url);
    const request = (isSecure ? https : http).request({
      ...TRUSTING,
      ...{ hostname, port, method, agent: false },
      path: through ? absolute.href : path,
      headers: { ...headers, host: absolute.host },
    });
    request.on('response', (response) => {
      this.#read(response, { status: response.statusCode, headers: response.headers });
      response.on('close', () => this.#over(response.complete ? 'complete' : 'cut'));
    });
    return request;
  }

  #open2({ url }, { method = 'POST', path = '/query', headers }) {
    this.#session = http2.connect(url, TRUSTING);
    this.#session.on('connect', () => (this.isHttp2 = true));
    this.#session.on('error', () => this.#over('cut'));
    const request = this.#session.request({ ':method': method, ':path': path, ...headers });
    request.on('response', (all) => this.#read(request, { status: all[':status'], headers: all }));
    request.on('end', () => this.#over(request.aborted || request.rstCode ? 'cut' : 'complete'));
    return request;
  }

  #read(response, head) {
    this.head = head;
    this.#tell();
    response.on('error', () => this.#over('cut'));
    response.setEncoding('utf8').on('data', (text) => {
      this.text += text;
      this.#tell();
    });
  }

  async #write(pieces) {
    for await (const piece of pieces) {
      if (this.end !== undefined || this.head) break;
      this.sent += piece.length;
      if (!this.#request.write(piece)) await this.#drained();
    }
    if (this.end === undefined) this.#request.end();
  }

  async #drained() {
    let isDrained = false;
    this.#request.once('drain', () => {
      isDrained = true;
      this.#tell();
    });
    while (!isDrained && this.end === undefined && !this.head) await this.#news();
  }

  /** The first end counts: what follows is the connection being closed. */
  #over(end) {
    if (this.end !== undefined) return;
    this.end = end;
    this.endedAfter = performance.now() - this.#began;
    this.#tell();
    this.#session?.destroy();
  }

  #news() {
    return new Promise((resolve) => this.#listeners.add(resolve));
  }

  #tell() {
    for (const tell of this.#listeners) tell();
    this.#listeners.clear();
  }
}

/** Listens on a port of the loopback interface. Resolves with a function that stops, and cuts what is open. */
export async function listenOn(port, listener) {
  const server = http.createServer({ requestTimeout: 0 }, listener);
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
}
