import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { checkConformance, endpointOf } from 'nest-agent-query-conformance';

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'content-location': '/query/1' };

/** A service that follows one script, as the suite requires, and then answers everything alike. */
async function startAlike(status: number, headers: Record<string, string>, body: string) {
  let count = 0;
  const server = createServer((request, response) => {
    if (count++ > 0)
      return void request.resume().on('end', () => response.writeHead(status, headers).end(body));
    void firstEmitted(request).then((emitted) => response.writeHead(200, STREAM).end(`data: ${emitted}\n\n`));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function firstEmitted(request: IncomingMessage): Promise<string> {
  const { parts } = (await json(request)) as { parts: { text: string }[] };
  const [step] = JSON.parse(parts[0]!.text) as { emit: object }[];
  return JSON.stringify(step!.emit);
}

const EMPTY_EVENT = 'data: {"type":"message","data":null}\n\n';

describe('A service that answers everything alike', () => {
  // No promise is kept by an answer that says nothing, but for these. Checks wait in vain for more, so all are at once.
  it.concurrent.each([
    [200, STREAM, '', ['core.answer', 'access.rate-headers']],
    [200, STREAM, EMPTY_EVENT, ['core.answer', 'access.rate-headers']],
    [200, { 'content-type': 'application/json' }, 'null', ['access.rate-headers']],
    [
      200,
      { 'content-type': 'application/json' },
      '{"runs":[],"sessions":[],"turns":[]}',
      ['access.rate-headers'],
    ],
    [302, { location: '/' }, '', ['access.rate-headers']],
    [500, { 'content-type': 'text/html' }, '<h1>No</h1>', ['access.rate-headers']],
  ])('with %d, %j and %j passes nothing else', async (status, headers, body, passed) => {
    const server = await startAlike(status, headers, body);
    const endpoint = endpointOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const target = { endpoint, headers: { 'x-api-key': 'own' }, otherHeaders: { 'x-api-key': 'other' } };
    const { results } = await checkConformance(target, { waitMs: 3_000 });
    server.close();
    await once(server, 'close');
    expect(results.filter(({ outcome }) => outcome !== 'failed').map(({ id }) => id)).toEqual(passed);
  });
});
