import { listenOn } from './exchange.mjs';

/**
 * Starts a server that says what arrives: it shows what no service shows of a body.
 *
 * @returns `stop`, and `arrivals`: how many bytes of each body came so far, by the header `label`
 */
export async function startBackend(port) {
  const arrivals = new Map();
  const stop = await listenOn(port, (request, response) => {
    const arrival = { received: 0 };
    arrivals.set(request.headers.label, arrival);
    // A proxy that cuts a body is an error of the request, which the caller reports.
    request.on('error', () => undefined);
    request.on('data', (bytes) => (arrival.received += bytes.length));
    const { authorization = 'none', 'x-api-key': key = 'none' } = request.headers;
    request.on('end', () => response.end(`${authorization}, ${key}`));
  });
  return { stop, arrivals };
}
