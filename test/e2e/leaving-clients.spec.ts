import { getEventListeners } from 'node:events';
import http from 'node:http';
import type { Socket } from 'node:net';
import { log, message } from '../../src/index.js';
import { promise } from '../promises.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, startAgent } from '../support/host.js';
import { casesOf } from '../support/long-form.js';
import { OperatorLog } from '../support/operator-log.js';
import { ask } from '../support/client.js';

const CLIENTS = casesOf(1000);
const AT_ONCE = 50;
const QUERY = JSON.stringify({ parts: [{ type: 'text', text: 'x'.repeat(2000) }] });

/** What a client has sent or received when it leaves. */
const MOMENTS = [
  'half the body',
  'the whole body',
  'the headers',
  'the first event',
  'some more events',
] as const;

/** Sends a query, cuts the connection at a moment, and resolves when it is closed. */
function sendAndLeave(url: string, moment: (typeof MOMENTS)[number]): Promise<void> {
  return new Promise((resolve) => {
    const request = http.request(`${url}/query`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', 'content-length': QUERY.length },
    });
    request.on('error', () => undefined).on('close', resolve);
    if (moment === 'half the body') request.write(QUERY.slice(0, 1000), () => request.destroy());
    else request.end(QUERY, () => moment === 'the whole body' && request.destroy());
    request.on('response', (response) => {
      response.on('error', () => undefined);
      if (moment === 'the headers') request.destroy();
      let events = 0;
      response.on('data', () => {
        events++;
        if (moment === 'the first event' || events === 3) request.destroy();
      });
    });
  });
}

/** What of the second list the first one has not: one name for each resource. What has gone away since is no matter. */
function added(before: string[], after: string[]): string[] {
  const known = [...before];
  return after.filter((name) => {
    const at = known.indexOf(name);
    if (at !== -1) known.splice(at, 1);
    return at === -1;
  });
}

describeOnOneAdapter('Clients that leave at any moment, on %s', (adapter) => {
  it(promise('disconnect.no-leak'), async () => {
    let handling = 0;
    const signals: AbortSignal[] = [];
    const talk = async function* (_query: unknown, { signal }: { signal: AbortSignal }) {
      handling++;
      signals.push(signal);
      try {
        for (let n = 0; ; n++) {
          yield n % 2 ? message(String(n)) : log(String(n));
          await new Promise((resolve) => setImmediate(resolve));
        }
      } finally {
        handling--;
      }
    };
    const host = await startAgent(adapter, talk, {
      // Fifty handlers share the event loop with their clients: on a busy machine, one may not be called for 100 ms.
      runs: { disconnect: 'cancel', stopDeadlineMs: 10_000 },
      streams: { keepAliveMs: 10 },
    });
    const operator = OperatorLog.of(host.app);
    const server = host.app.getHttpServer() as http.Server;
    const sockets = new Set<Socket>();
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    await sendAndLeave(host.url, 'the first event');
    await eventually(() => sockets.size === 0 && host.agent.load().running === 0);
    const listeners = () => server.eventNames().map((name) => [name, server.listenerCount(name)]);
    const before = { resources: process.getActiveResourcesInfo(), listeners: listeners() };

    for (let started = 0; started < CLIENTS; started += AT_ONCE) {
      await Promise.all(
        Array.from({ length: AT_ONCE }, (_, n) =>
          sendAndLeave(host.url, MOMENTS[(started + n) % MOMENTS.length]!),
        ),
      );
    }
    await eventually(() => sockets.size === 0 && handling === 0 && host.agent.load().running === 0);

    expect(host.agent.load()).toEqual({ running: 0, waiting: 0, asking: 0, followers: 0, overdue: 0 });
    await eventually(() => added(before.resources, process.getActiveResourcesInfo()).length === 0);
    expect(listeners()).toEqual(before.listeners);
    const isLeft = (signal: AbortSignal) =>
      !signal.aborted || getEventListeners(signal, 'abort').length !== 0;
    expect(signals.filter(isLeft)).toEqual([]);
    // Each client that received the headers had a handler.
    expect(signals.length).toBeGreaterThanOrEqual((CLIENTS * 3) / MOMENTS.length);
    expect(operator.troubles).toEqual([]);
    await host.close();
  });
});

describeOnOneAdapter('A kept-alive connection on %s', (adapter) => {
  it(promise('http.kept-alive', 'as many listeners after a hundred queries as after one'), async () => {
    const host = await startAgent(adapter, async function* () {
      yield message('Hi');
    });
    const sockets: Socket[] = [];
    (host.app.getHttpServer() as http.Server).on('connection', (socket) => sockets.push(socket));
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const listeners = () =>
      sockets[0]!.eventNames().map((name) => `${String(name)} ${sockets[0]!.listenerCount(name)}`);
    await (await ask(host.url, 'Hello', { agent })).whole();
    const before = listeners();
    for (let n = 0; n < 100; n++) await (await ask(host.url, 'Hello', { agent })).whole();
    expect(listeners()).toEqual(before);
    expect(sockets).toHaveLength(1);
    agent.destroy();
    await host.close();
  });
});
