import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { INestApplication } from '@nestjs/common';
import { addSecurityHeaders, type ConnectionLimits, limitConnections } from '../../../src/access/index.js';
import { message } from '../../../src/index.js';
import { promise } from '../../promises.js';
import { ask } from '../../support/client.js';
import { eventually } from '../../support/conditions.js';
import { describeOnBothAdapters, type Host, startAgent } from '../../support/host.js';

const HEAD =
  'POST /query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n';

describeOnBothAdapters('The connections of a host on %s', (adapter) => {
  let host: Host;
  let sockets: Socket[];

  const start = async (limits: Partial<ConnectionLimits>) => {
    const answer = async function* () {
      yield message('hello');
    };
    const configure = async (app: INestApplication) => {
      const server = app.getHttpServer() as Server;
      limitConnections(server, limits);
      await addSecurityHeaders(server);
    };
    host = await startAgent(adapter, answer, {}, configure);
  };

  /** Opens a connection, and sends the beginning of a request. */
  const open = async (text = ''): Promise<Socket> => {
    const socket = connect(Number(new URL(host.url).port), '127.0.0.1');
    sockets.push(socket);
    // The server may reset it.
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    if (text !== '') socket.write(text);
    return socket;
  };

  const everything = async (socket: Socket): Promise<string> => {
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    if (!socket.closed) await once(socket, 'close');
    return text;
  };

  beforeEach(() => {
    sockets = [];
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await host.close();
  });

  it(promise('access.half-open'), async () => {
    await start({ perAddress: 20 });
    for (let index = 0; index < 60; index++) await open('POST /query HTTP/1.1\r\nHost: a\r\n');
    await eventually(() => sockets.filter(({ closed }) => closed).length >= 40);
    expect(await (await ask(host.url, 'hello')).answer()).toEqual({
      text: 'hello',
      done: [{ status: 'completed' }],
    });
  });

  it(promise('access.half-open', 'a connection with a request is not closed for a new one'), async () => {
    await start({ perAddress: 2 });
    const busy = await open(HEAD.replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'));
    const [reply] = (await once(busy, 'data')) as [Buffer];
    expect(reply.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    const idle = await open();
    const third = await open();
    await everything(idle);
    expect([busy.closed, third.closed]).toEqual([false, false]);
  });

  it(promise('access.slow-request', 'the head'), async () => {
    await start({ headMs: 50 });
    const answer = await everything(await open('POST /query HTTP/1.1\r\nHost: a\r\n'));
    expect(answer.split('\r\n')[0]).toMatch(/^HTTP\/1\.1 408 /);
  });

  it(promise('access.slow-request', 'the body'), async () => {
    await start({ headMs: 50, requestMs: 100 });
    const socket = await open(HEAD);
    const trickle = setInterval(() => socket.write(' '), 20);
    const answer = await everything(socket);
    clearInterval(trickle);
    expect(answer.split('\r\n')[0]).toMatch(/^HTTP\/1\.1 408 /);
  });

  it(promise('access.proxies'), async () => {
    await start({ perAddress: 1, proxies: ['loopback'] });
    for (let index = 0; index < 10; index++) await open();
    expect((await ask(host.url, 'hello')).status).toBe(200);
    expect(sockets.filter(({ closed }) => closed)).toEqual([]);
  });

  it(promise('access.security-headers'), async () => {
    await start({});
    for (const path of ['/query', '/query/none', '/nothing', '/query/%zz']) {
      const { headers } = await fetch(host.url + path, { method: path === '/query' ? 'OPTIONS' : 'GET' });
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none'");
    }
    const { headers } = await ask(host.url, 'hello');
    expect(headers['x-frame-options']).toBe('DENY');
    expect(headers['strict-transport-security']).toBeUndefined();
  });
});
