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
});
