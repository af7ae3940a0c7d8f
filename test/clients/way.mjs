/**
 * An HTTP proxy between one client and the service, for one case. It counts requests, and loses answers: before their head, or
 * when it is told to.
 */
import { once } from 'node:events';
import { createServer, request } from 'node:http';

export class Way {
  /** Requests that have come: their method and path. */
  requests = [];
  /** Answers that the client has left before their end. */
  left = 0;
  /** Answers that were lost here. */
  lost = 0;
  #server;
  #target;
  #answers = new Set();
  #losesHeadOf;

  /**
   * @param target the URL of the service
   * @param losesHeadOf the first request that has this text in its body, or that follows a run, gets no answer: its
   *   connection is reset when the service begins to answer
   */
  static async to(target, losesHeadOf) {
    const way = new Way(target, losesHeadOf);
    await once(way.#server.listen(0, '127.0.0.1'), 'listening');
    return way;
  }

  constructor(target, losesHeadOf) {
    this.#target = new URL(target);
    this.#losesHeadOf = losesHeadOf;
    this.#server = createServer((asked, answer) => this.#pass(asked, answer));
    this.#server.requestTimeout = 0;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  /** Resets the connections of all answers that have begun and not ended. */
  lose() {
    for (const answer of this.#answers) this.#reset(answer);
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #pass(asked, answer) {
    this.requests.push(`${asked.method} ${asked.url}`);
    const { hostname, port } = this.#target;
    const { method, url: path, headers } = asked;
    let body = '';
    asked.on('data', (chunk) => (body += chunk));
    const onward = request({ hostname, port, method, path, headers, agent: false });
    asked.on('error', () => onward.destroy());
    onward.on('error', () => answer.destroy());
    onward.on('response', (response) => {
      response.on('error', () => answer.destroy());
      const isQuery = path.startsWith('/query/') || body.includes(this.#losesHeadOf);
      if (this.#losesHeadOf && isQuery) {
        this.#losesHeadOf = undefined;
        return this.#reset(answer);
      }
      this.#answers.add(answer);
      answer.writeHead(response.statusCode, response.rawHeaders);
      answer.flushHeaders();
      response.pipe(answer);
    });
    answer.on('close', () => {
      this.#answers.delete(answer);
      if (answer.writableFinished) return;
      if (!answer.wasLost) this.left += 1;
      onward.destroy();
    });
    asked.pipe(onward);
  }

  #reset(answer) {
    answer.wasLost = true;
    this.lost += 1;
    answer.socket.resetAndDestroy();
  }
}
