import { RemoteServer, switchedProtocol } from '../../../../test/support/remote-service.js';
import { send } from './send.js';

it('A request ends where the service switches the protocol: it has no response', async () => {
  const server = await RemoteServer.start();
  server.answers(switchedProtocol);
  await expect(send(new URL(`${server.url}/query`), { body: '{}' }, 60_000)).rejects.toMatchObject({
    expected: 'a response to POST /query',
    seen: 'the connection was closed',
  });
  await server.stop();
});
