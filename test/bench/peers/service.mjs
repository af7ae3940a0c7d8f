/** The service as it is by default, with metrics and log lines: `node dist/main.js`. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';

export async function standalone() {
  const port = await freePort();
  Object.assign(process.env, {
    AGENT: join(import.meta.dirname, '../bench-agent.mjs'),
    DATABASE_URL: 'memory:',
    LOG_FORMAT: 'json',
    PORT: String(port),
  });
  // They are the peer's, and the service has flags of its own.
  process.argv.splice(2);
  await import('../../../dist/main.js');
  return port;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
