import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { limitConnections } from './connections.js';

describe('The limits of connections', () => {
  it.each([
    [{ perAddress: 0 }, 'limitConnections.perAddress is 0; it must be a whole number from 1 to 1000000.'],
    [{ proxies: ['10.0.0.0/40'] }, 'limitConnections: the proxy "10.0.0.0/40" is not valid'],
    [{ proxies: ['proxy.example'] }, 'limitConnections: the proxy "proxy.example" is not valid'],
    [{ proxies: ['constructor'] }, 'limitConnections: the proxy "constructor" is not valid'],
  ])('refuse %j', (limits, sentence) => {
    expect(() => limitConnections({} as Server, limits)).toThrow(sentence);
  });

  it.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::2', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['2001:db8::1', '2001:db8:0:0:9::', true],
    ['::ffff:192.0.2.1', '192.0.2.1', true],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['fe80::1%eth0', 'fe80::2', true],
    ['192.0.2.1', '192.0.2.2', false],
  ])('count %s and %s as one address: %s', (one, other, isOne) => {
    const server = new EventEmitter() as Server;
    limitConnections(server, { perAddress: 1 });
    const sockets = [one, other].map((remoteAddress) => {
      const socket = { remoteAddress, destroyed: false, destroy: () => (socket.destroyed = true) };
      server.emit('connection', Object.assign(socket, { once: () => socket }));
      return socket;
    });
    // The oldest makes room for the new one.
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([isOne, false]);
  });
});
