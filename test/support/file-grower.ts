import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { request as send } from './client.js';

const PIECE = 'A'.repeat(400_000);

/** An HTTP proxy that makes a small file of a request a large one, so that no client has the large one in its memory. */
export class FileGrower {
  /** The most bytes that this process has used while files were sent, besides those before. */
  used = 0;

  private constructor(private readonly server: http.Server) {}

  /**
   * @param small the file of the requests, in base64
   * @param length of the large one, in characters of base64
   */
  static async before(target: string, small: string, length: number): Promise<FileGrower> {
    const server = http.createServer();
    const grower = new FileGrower(server);
    server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
      const { 'content-length': _, ...headers } = request.headers;
      void text(request).then(async (body) => {
        const [head, tail] = body.split(small) as [string, string];
        const options = { path: request.url!, headers };
        const reply = await send(target, options, grower.#grown(head, tail, length));
        response.writeHead(reply.status, reply.headers);
        response.end(await reply.whole());
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return grower;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async *#grown(head: string, tail: string, length: number): AsyncGenerator<string> {
    const before = memory();
    yield head;
    for (let sent = 0; sent < length; sent += PIECE.length) {
      yield PIECE;
      this.used = Math.max(this.used, memory() - before);
    }
    yield tail;
  }
}

function memory(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
