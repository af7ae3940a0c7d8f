import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP proxy that cuts connections after so many events of the service. */
export class EventCutter {
  /** After how many events the next connections are cut. One number is for one connection; those that follow are not cut. */
  cuts: number[] = [];
  /** The requests that have passed: their methods, and how they resume. */
  requests: string[] = [];

  private constructor(
    private readonly server: http.Server,
    private readonly target: string,
  ) {
    server.on('request', (request, response) => this.#pass(request, response));
  }

  static async before(target: string): Promise<EventCutter> {
    const server = http.createServer();
    const cutter = new EventCutter(server, target);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return cutter;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #pass(request: http.IncomingMessage, response: http.ServerResponse): void {
    const { method, headers, url } = request;
    this.requests.push(
      `${method} ${(headers['last-event-id'] as string | undefined)?.split('.')[1] ?? ''}`.trim(),
    );
    let left = this.cuts.shift() ?? Infinity;
    const sent = http.request(`${this.target}${url}`, { method, headers, agent: false });
    request.pipe(sent);
    sent.on('error', () => undefined);
    sent.on('response', (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      response.flushHeaders();
      let text = '';
      answer.on('error', () => undefined);
      answer.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        for (let end; (end = text.indexOf('\n\n')) !== -1; left--) {
          if (left === 0) break;
          response.write(text.slice(0, end + 2), 'latin1');
          text = text.slice(end + 2);
        }
        if (left > 0) return;
        sent.destroy();
        // What was written arrives before the connection ends.
        response.socket?.destroySoon();
      });
      answer.on('end', () => response.end(text, 'latin1'));
    });
    response.on('close', () => sent.destroy());
  }
}
