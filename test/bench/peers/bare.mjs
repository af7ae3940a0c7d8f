/** `node:http` that only takes the bytes of a query's body: what nobody who reads it can fall below. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

async function serve(take) {
  const server = createServer((request, response) => {
    take(request);
    request.on('end', () => {
      response.write('data: read\n\n');
      response.end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}

export const throwAway = () => serve((request) => request.resume());

export const hash = () =>
  serve((request) => {
    const sum = createHash('sha256');
    request.on('data', (chunk) => sum.update(chunk));
    request.on('end', () => sum.digest('hex'));
  });
