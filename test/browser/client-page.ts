import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ROOT } from '../support/documents.js';

const PAGE = `<!doctype html>
<title>The typed client</title>
<link rel="icon" href="data:," />
<script type="importmap">
  { "imports": { "eventsource-parser": "/node_modules/eventsource-parser/dist/index.js" } }
</script>
<script type="module">
  import * as client from '/packages/client/dist/index.js';
  globalThis.agentQuery = client;
</script>
`;

/** A server of a page that has loaded the typed client, with an origin of its own. */
export class ClientPage {
  private constructor(
    private readonly server: Server,
    readonly origin: string,
  ) {}

  static async start(): Promise<ClientPage> {
    const server = createServer(({ url = '' }, response) => {
      if (url === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
      readFile(join(ROOT, url)).then(
        (bytes) => response.writeHead(200, { 'content-type': 'text/javascript' }).end(bytes),
        () => response.writeHead(404).end(),
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ClientPage(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
