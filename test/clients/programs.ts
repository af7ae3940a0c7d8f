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
}

/** The header that lets a repeated request attach to its run. */
const HEADER = "headers: { 'Idempotency-Key': … }";

const OF_CALL = { settings: [HEADER] };
const OF_CLIENT = {
  settings: [`defaultHeaders: { 'Idempotency-Key': … }`],
  within: 'new OpenAI, for each query',
};

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
    settings: [`options: { ${HEADER} }`],
  }),
  ...both('openai-agents', '@openai/agents', {
    packages: ['@openai/agents'],
    module: 'openai-agents',
    ...OF_CLIENT,
  }),
  ...both('llamaindex', '@llamaindex/openai', {
    packages: ['@llamaindex/openai'],
    module: 'llamaindex',
    settings: ["additionalSessionOptions: { defaultHeaders: { 'Idempotency-Key': … } }"],
    within: 'new model, for each query',
  }),
  {
    name: 'genkit, @genkit-ai/compat-oai',
    key: 'genkit',
    packages: ['genkit', '@genkit-ai/compat-oai'],
    module: 'genkit',
    settings: ["defaultHeaders: { 'Idempotency-Key': … }"],
    within: 'openAICompatible, for each query',
  },
];

const AT_THE_END = ['close() at done'];

/** Readers with the interface of EventSource. */
function eventSource(key: string, name: string, packages: string[], options: Client['options']): Client {
  return { key, name, packages, module: 'event-source', options: options ?? {}, settings: AT_THE_END };
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
  eventSource('eventsource-3', 'eventsource 3 (GET)', ['eventsource-3'], {
    maker: 'eventsource',
    packageName: 'eventsource-3',
  }),
  eventSource('eventsource', 'eventsource 4 (GET)', ['eventsource'], {
    maker: 'eventsource',
    packageName: 'eventsource',
  }),
  eventSource('eventsource-post', 'eventsource 4 (fetch posts)', ['eventsource'], {
    maker: 'eventsource',
    packageName: 'eventsource',
    method: 'POST',
  }),
  {
    ...eventSource('eventsource-5', 'eventsource 5 (fetch posts)', ['eventsource-5'], {
      maker: 'eventsource',
      packageName: 'eventsource-5',
      method: 'POST',
    }),
    isNewer: true,
  },
  eventSource('undici', 'undici EventSource (GET)', ['undici'], { maker: 'undici' }),
  {
    name: '@microsoft/fetch-event-source',
    key: 'fetch-event-source',
    packages: ['@microsoft/fetch-event-source'],
    module: 'fetch-event-source',
    settings: ['onopen', 'onerror', HEADER],
  },
  {
    name: 'eventsource-client',
    key: 'eventsource-client',
    packages: ['eventsource-client'],
    module: 'eventsource-client',
    settings: [...AT_THE_END, 'fetch: refused'],
  },
  eventSource('extended-eventsource', 'extended-eventsource (POST)', ['extended-eventsource'], {
    maker: 'extended',
    method: 'POST',
  }),
  eventSource('launchdarkly-eventsource', 'launchdarkly-eventsource (POST)', ['launchdarkly-eventsource'], {
    maker: 'launchdarkly',
    method: 'POST',
  }),
  eventSource('event-source-polyfill', 'event-source-polyfill (GET)', ['event-source-polyfill'], {
    maker: 'polyfill',
  }),
  eventSource(
    'reconnecting-eventsource',
    'reconnecting-eventsource (GET)',
    ['reconnecting-eventsource', 'eventsource'],
    { maker: 'reconnecting' },
  ),
  {
    name: 'sse.js, xhr2',
    key: 'sse.js',
    packages: ['sse.js', 'xhr2'],
    module: 'sse-js',
    settings: ["Accept: 'text/event-stream'", "'Idempotency-Key': …", ...AT_THE_END],
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
    settings: ['response.ok'],
  },
];

const OF_TRANSPORT = { settings: [HEADER], within: 'requestInit' };

/** Those of AG-UI, A2A and MCP. */
export const PROTOCOLS: readonly Client[] = [
  ...(['@ag-ui/client', 'ag-ui-client-0'] as const).map((packageName) => ({
    name: `@ag-ui/client ${packageName === '@ag-ui/client' ? '1' : '0'}`,
    key: packageName === '@ag-ui/client' ? 'ag-ui' : 'ag-ui-0',
    packages: [packageName],
    module: 'ag-ui',
    options: { packageName },
    settings: [],
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
    ...OF_TRANSPORT,
  },
  {
    name: '@modelcontextprotocol/client',
    key: 'mcp-modern',
    packages: ['@modelcontextprotocol/client'],
    module: 'mcp',
    options: { version: '2026-07-28' },
    ...OF_TRANSPORT,
  },
  {
    name: '@langchain/mcp-adapters',
    key: 'langchain-mcp',
    packages: ['@langchain/mcp-adapters'],
    module: 'langchain-mcp',
    settings: [HEADER],
  },
  {
    name: '@mastra/mcp',
    key: 'mastra-mcp',
    packages: ['@mastra/mcp'],
    module: 'mastra-mcp',
    ...OF_TRANSPORT,
  },
  { name: 'mcp-client', key: 'mcp-client', packages: ['mcp-client'], module: 'mcp-client', settings: [] },
];
