import { log, message } from '../../src/index.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';
import { readBlocks, readLines, readWithFetchEventSource, readWithParser } from '../support/readers.js';

/** Keep-alives that a run's silence lasts for. */
const SILENT_BEATS = 20;
const KEEP_ALIVE_MS = 5;

const ENVELOPES = [
  { type: 'log', data: { message: 'Thinking' } },
  { type: 'message', data: { content: 'a line\nand another: data: {}\n\n' } },
  { type: 'message', data: { content: 'Grüße' } },
  { type: 'done', data: { status: 'completed' } },
];

async function* thoughtful() {
  yield log('Thinking');
  await new Promise((resolve) => setTimeout(resolve, SILENT_BEATS * KEEP_ALIVE_MS));
  yield message('a line\nand another: data: {}\n\n');
  yield message('Grüße');
}

describe.each(ADAPTERS)('A run with a long silence on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startAgent(adapter, thoughtful, { streams: { keepAliveMs: KEEP_ALIVE_MS } });
  });
  afterAll(() => host.close());

  it.each([
    ['parses every line that is not empty', readLines],
    ['cuts at blank lines', readBlocks],
  ])('is read in the plain profile by a client that %s', async (_, read) => {
    expect(await read(host.url)).toEqual(ENVELOPES.map((envelope) => ({ envelope })));
  });

  it.each([
    ['eventsource-parser', readWithParser],
    ['@microsoft/fetch-event-source', readWithFetchEventSource],
  ])('is read in the full profile by %s, with the ids of its events', async (_, read) => {
    const events = await read(host.url);
    expect(events.map(({ envelope }) => envelope)).toEqual(ENVELOPES);
    const [runId] = events[0]!.id!.split('.');
    expect(events.map(({ id }) => id)).toEqual([1, 2, 3, 4].map((seq) => `${runId}.${seq}`));
  });
});
