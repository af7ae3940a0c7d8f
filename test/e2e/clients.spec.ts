import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { log, message } from '../../src/index.js';
import { promise } from '../promises.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { readBlocks, readLines, readWithFetchEventSource, readWithParser } from '../support/readers.js';

/** How many keep-alives the silence lasts for. */
const KEEP_ALIVES = 20;
/** A keep-alive has at least 2 bytes, and its chunk has 5 besides (RFC 9112 §7.1). */
const KEEP_ALIVE_BYTES = 7;

const ENVELOPES = [
  { type: 'log', data: { message: 'Thinking' } },
  { type: 'message', data: { content: 'a line\nand another: data: {}\n\n' } },
  { type: 'message', data: { content: 'Grüße' } },
  { type: 'done', data: { status: 'completed' } },
];

describeOnOneAdapter('A run with a long silence on %s', (adapter) => {
  let host: Host;
  const sockets = new Set<Socket>();
  const written = () => [...sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);

  beforeAll(async () => {
    const handler = async function* () {
      yield log('Thinking');
      const silentFrom = written();
      await eventually(() => written() >= silentFrom + KEEP_ALIVES * KEEP_ALIVE_BYTES);
      yield message('a line\nand another: data: {}\n\n');
      yield message('Grüße');
    };
    host = await startAgent(adapter, handler, { streams: { keepAliveMs: 10 } });
    (host.app.getHttpServer() as Server).on('connection', (socket: Socket) => sockets.add(socket));
  });
  afterAll(() => host.close());

  it.each([
    ['parses every line that is not empty', readLines],
    ['cuts at blank lines', readBlocks],
  ])(promise('profile.plain-clients', 'a client that %s'), async (_, read) => {
    expect(await read(host.url)).toEqual(ENVELOPES.map((envelope) => ({ envelope })));
  });

  it.each([
    ['eventsource-parser', readWithParser],
    ['@microsoft/fetch-event-source', readWithFetchEventSource],
  ])(promise('profile.full-clients', '%s'), async (_, read) => {
    const events = await read(host.url);
    expect(events.map(({ envelope }) => envelope)).toEqual(ENVELOPES);
    const [runId] = events[0]!.id!.split('.');
    expect(events.map(({ id }) => id)).toEqual([1, 2, 3, 4].map((seq) => `${runId}.${seq}`));
  });
});
