/** A client of a cluster, which checks that each event has the number after the one before. */
import { once } from 'node:events';
import http from 'node:http';

const ACCEPT = { accept: 'text/event-stream' };
const JSON_BODY = { 'content-type': 'application/json' };

/** One response. */
export class Stream {
  text = '';
  lastId = 0;
  #onNews = () => undefined;

  /** Resolves when the response has begun. */
  static async open(port, { path = '/query', method = 'POST', body, headers = {} }) {
    const request = http.request({
      port,
      path,
      method,
      agent: false,
      headers: { ...ACCEPT, ...(body && JSON_BODY), ...headers },
    });
    request.end(body);
    const [response] = await once(request, 'response');
    return new Stream(response);
  }

  constructor(response) {
    this.response = response;
    this.status = response.statusCode;
    this.path = response.headers['content-location'];
    this.ended = new Promise((resolve) => response.once('close', resolve));
    response.on('error', () => undefined);
    response.setEncoding('utf8').on('data', (text) => this.#take(text));
    void this.ended.then(() => this.#onNews());
  }

  /** Waits until a text has arrived. Returns when that was. */
  async until(text) {
    while (!this.text.includes(text)) {
      if (this.response.closed) throw new Error(`The stream ended with ${this.text.slice(-200)}`);
      await new Promise((resolve) => (this.#onNews = resolve));
    }
    return performance.now();
  }

  leave() {
    this.response.destroy();
  }

  #take(text) {
    this.text += text;
    for (const [, number] of text.matchAll(/^id: [^.]+\.(\d+)$/gm)) {
      if (this.lastId > 0 && Number(number) !== this.lastId + 1)
        throw new Error(`Event ${number} follows ${this.lastId}.`);
      this.lastId = Number(number);
    }
    this.#onNews();
  }
}
