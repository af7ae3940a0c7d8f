import { once } from 'node:events';
import http2 from 'node:http2';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Credential, credentialOf } from './credential.js';

it('Two different credentials are several, over HTTP/2 too', async () => {
  let found: Credential | undefined;
  const server = http2.createServer((request, response) => {
    found = credentialOf(request as never as IncomingMessage);
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const request = session.request({ 'x-api-key': ['one', 'two'] });
  request.resume();
  await once(request, 'close');
  session.close();
  await new Promise((closed) => server.close(closed));
  expect(found).toEqual({ kind: 'several' });
});
