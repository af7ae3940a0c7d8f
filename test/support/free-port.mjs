import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port of the loopback interface that nobody used a moment ago. A test may listen on it, stop, and listen again: no
 * system gives ports of this range to outgoing connections by itself (IANA's range begins at 49152, that of Linux at 32768).
 *
 * @returns {Promise<number>}
 */
export async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isFree(port)) return port;
  }
}

async function isFree(port) {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
