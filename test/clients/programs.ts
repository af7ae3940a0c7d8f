/** A row of a table in docs/clients.md. */
export interface Client {
  name: string;
  /** What `--only` takes. */
  key: string;
  /** The packages whose versions the row has, by their names in the manifest of this folder. */
  packages: readonly string[];
  /** Its module in `asks`, and what that gets. */
  module: string;
  options?: Record<string, string>;
  /** Whether it needs Node 22. */
  isNewer?: boolean;
  /** What is set. Without it, the client is used as its README says. */
  settings: readonly string[];
  /** Where that is set, if it is not clear. */
  within?: string;
  /** Why a cell shows a fault that is not ours, by the keys of the columns. */
  reasons?: Record<string, string>;
}

/** The header that lets a repeated request attach to its run. */
const HEADER = "headers: { 'Idempotency-Key': … }";
const DEFAULT_HEADER = "defaultHeaders: { 'Idempotency-Key': … }";

const CLOSE_AT_DONE = "if (envelope.type === 'done') source.close()";

const OF_CALL = { settings: [HEADER] };
const OF_CLIENT = { settings: [DEFAULT_HEADER], within: 'new OpenAI' };

const APIS = { responses: 'Responses', chat: 'Chat Completions' };

/** A row for each of the two interfaces. */
function both(key: string, name: string, client: Omit<Client, 'key' | 'name'>): Client[] {
  return Object.entries(APIS).map(([api, title]) => ({
    ...client,
    key: `${key}-${api}`,
    name: `${name}, ${title}`,
    options: { ...client.options, api },
  }));
}

/** Those of models and of frameworks for agents, whose address is that of `/v1`. */
export const MODELS: readonly Client[] = [
  ...both('openai', 'openai 6', {
    packages: ['openai'],
    module: 'openai',
    options: { packageName: 'openai' },
    ...OF_CALL,
  }),
  ...both('openai-7', 'openai 7', {
    packages: ['openai-7'],
    module: 'openai',
    options: { packageName: 'openai-7' },
    isNewer: true,
    ...OF_CALL,
  }),
  ...both('ai-sdk', 'ai 6, @ai-sdk/openai 3', {
    packages: ['ai', '@ai-sdk/openai'],
    module: 'ai-sdk',
    options: { ai: 'ai', provider: '@ai-sdk/openai' },
    ...OF_CALL,
  }),
  ...both('ai-sdk-7', 'ai 7, @ai-sdk/openai 4', {
    packages: ['ai-7', '@ai-sdk/openai-4'],
    module: 'ai-sdk',
    options: { ai: 'ai-7', provider: '@ai-sdk/openai-4' },
    isNewer: true,
    ...OF_CALL,
  }),
  {
    name: 'ai 6, @ai-sdk/openai-compatible 2',
    key: 'ai-sdk-compatible',
    packages: ['ai', '@ai-sdk/openai-compatible'],
    module: 'ai-sdk',
    options: { ai: 'ai', provider: '@ai-sdk/openai-compatible', api: 'compatible' },
    ...OF_CALL,
  },
  ...both('langchain', '@langchain/openai', {
    packages: ['@langchain/openai'],
    module: 'langchain',
    settings: [`configuration: { ${DEFAULT_HEADER} }`],
    within: 'new ChatOpenAI',
  }),
  ...both('openai-agents', '@openai/agents', {
    packages: ['@openai/agents'],
    module: 'openai-agents',
    ...OF_CLIENT,
  }),
  ...both('llamaindex', '@llamaindex/openai', {
    packages: ['@llamaindex/openai'],
    module: 'llamaindex',
    reasons: { stream: 'with Responses, it tells the last piece once more for each event after it' },
    settings: [`additionalSessionOptions: { ${DEFAULT_HEADER} }`],
  }),
  {
    name: 'genkit, @genkit-ai/compat-oai',
    key: 'genkit',
    packages: ['genkit', '@genkit-ai/compat-oai'],
    module: 'genkit',
    settings: [DEFAULT_HEADER],
    within: 'openAICompatible',
  },
];

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

/** Clients of MCP. */
const LOST = {
  reasons: { cut: 'a lost response is no error before its time limit, which is 60 s by default' },
};

/** Those of AG-UI, A2A and MCP. */
export const PROTOCOLS: readonly Client[] = [
  ...(['@ag-ui/client', 'ag-ui-client-0'] as const).map((packageName) => ({
    name: `@ag-ui/client ${packageName === '@ag-ui/client' ? '1' : '0'}`,
    key: packageName === '@ag-ui/client' ? 'ag-ui' : 'ag-ui-0',
    packages: [packageName],
    module: 'ag-ui',
    options: { packageName },
    settings: [],
    reasons: { cut: 'a second promise, which callers do not get, is rejected too' },
  })),
  ...(['json-rpc', 'rest'] as const).map((transport) => ({
    name: `@a2a-js/sdk 1, ${transport === 'rest' ? 'REST' : 'JSON-RPC'}`,
    key: `a2a-${transport}`,
    packages: ['@a2a-js/sdk'],
    module: 'a2a',
    options: { transport },
    settings: [],
  })),
  { name: '@a2a-js/sdk 0.3', key: 'a2a-0', packages: ['a2a-js-sdk-0'], module: 'a2a-0', settings: [] },
  {
    name: '@google/adk RemoteA2AAgent',
    key: 'google-adk',
    packages: ['@google/adk'],
    module: 'google-adk',
    settings: [],
  },
  {
    name: '@modelcontextprotocol/sdk',
    key: 'mcp-sdk',
    packages: ['@modelcontextprotocol/sdk'],
    module: 'mcp',
    options: { version: '2025-11-25' },
    settings: [],
    ...LOST,
  },
  {
    name: '@modelcontextprotocol/client',
    key: 'mcp-modern',
    packages: ['@modelcontextprotocol/client'],
    module: 'mcp',
    options: { version: '2026-07-28' },
    settings: [],
    ...LOST,
  },
  {
    name: '@langchain/mcp-adapters',
    key: 'langchain-mcp',
    packages: ['@langchain/mcp-adapters'],
    module: 'langchain-mcp',
    settings: [],
    ...LOST,
  },
  {
    name: '@mastra/mcp',
    key: 'mastra-mcp',
    packages: ['@mastra/mcp'],
    module: 'mastra-mcp',
    settings: [HEADER],
    within: 'requestInit',
    ...LOST,
  },
  {
    name: 'mcp-client',
    key: 'mcp-client',
    packages: ['mcp-client'],
    module: 'mcp-client',
    settings: [],
    ...LOST,
  },
];
