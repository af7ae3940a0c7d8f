import { type Client, HEADER } from './programs.js';

const CLOSE_AT_DONE = "if (envelope.type === 'done') source.close()";

/** A reader with the interface of EventSource. By POST, it sends the query each time. */
function eventSource(
  client: Omit<Client, 'module' | 'settings'>,
  options: Record<string, string>,
  settings: readonly string[] = options['method'] === 'POST' ? [HEADER, CLOSE_AT_DONE] : [],
): Client {
  return { ...client, module: 'event-source', options, settings };
}

/** Those that read the stream of the endpoint. */
export const READERS: readonly Client[] = [
  {
    name: 'nest-agent-query-client',
    key: 'nest-agent-query-client',
    packages: ['nest-agent-query-client'],
    module: 'nest-agent-query-client',
    settings: [],
  },
  { name: 'curl -N', key: 'curl', packages: [], module: 'curl', settings: [] },
  eventSource(
    { name: 'eventsource 3, GET', key: 'eventsource-3', packages: ['eventsource-3'] },
    { maker: 'eventsource', packageName: 'eventsource-3' },
  ),
  eventSource(
    { name: 'eventsource 4, GET', key: 'eventsource', packages: ['eventsource'] },
    { maker: 'eventsource', packageName: 'eventsource' },
  ),
  eventSource(
    { name: 'eventsource 4, POST', key: 'eventsource-post', packages: ['eventsource'] },
    { maker: 'eventsource', packageName: 'eventsource', method: 'POST' },
  ),
  eventSource(
    { name: 'eventsource 5, POST', key: 'eventsource-5', packages: ['eventsource-5'], isNewer: true },
    { maker: 'eventsource', packageName: 'eventsource-5', method: 'POST' },
  ),
  eventSource({ name: 'undici EventSource, GET', key: 'undici', packages: ['undici'] }, { maker: 'undici' }),
  {
    name: '@microsoft/fetch-event-source',
    key: 'fetch-event-source',
    packages: ['@microsoft/fetch-event-source'],
    module: 'fetch-event-source',
    settings: [HEADER, 'onopen: throw if (!response.ok)', 'onerror: throw what onopen has thrown'],
  },
  {
    name: 'eventsource-client',
    key: 'eventsource-client',
    packages: ['eventsource-client'],
    module: 'eventsource-client',
    settings: [HEADER, CLOSE_AT_DONE, 'fetch: source.close() if (!response.ok)'],
  },
  eventSource(
    { name: 'extended-eventsource, POST', key: 'extended-eventsource', packages: ['extended-eventsource'] },
    { maker: 'extended', method: 'POST' },
  ),
  eventSource(
    {
      name: 'launchdarkly-eventsource, POST',
      key: 'launchdarkly-eventsource',
      packages: ['launchdarkly-eventsource'],
    },
    { maker: 'launchdarkly', method: 'POST' },
  ),
  eventSource(
    { name: 'event-source-polyfill, GET', key: 'event-source-polyfill', packages: ['event-source-polyfill'] },
    { maker: 'polyfill' },
    [CLOSE_AT_DONE],
  ),
  eventSource(
    {
      name: 'reconnecting-eventsource, GET',
      key: 'reconnecting-eventsource',
      packages: ['reconnecting-eventsource', 'eventsource'],
      reasons: { errors: 'the package tells no error before the first event, and tries again for ever' },
    },
    { maker: 'reconnecting' },
    [CLOSE_AT_DONE],
  ),
  {
    name: 'sse.js, xhr2',
    key: 'sse.js',
    packages: ['sse.js', 'xhr2'],
    module: 'sse-js',
    settings: ["headers: { Accept: 'text/event-stream', 'Idempotency-Key': … }", CLOSE_AT_DONE],
    reasons: {
      questions: '`xhr2` has the text of a response at its end only; a browser has each piece at once',
    },
  },
  {
    name: 'fetch-event-stream',
    key: 'fetch-event-stream',
    packages: ['fetch-event-stream'],
    module: 'streams',
    options: { reader: 'fetch-event-stream' },
    settings: [],
  },
  {
    name: 'parse-sse',
    key: 'parse-sse',
    packages: ['parse-sse'],
    module: 'streams',
    options: { reader: 'parse-sse' },
    settings: ['if (!response.ok) throw …'],
  },
];
