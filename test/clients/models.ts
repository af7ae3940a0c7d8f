import { type Client, HEADER } from './programs.js';

const OF_CALL = { settings: [HEADER] };
/** Where a header can be set for all calls of a client only, so that a second query would have the same key. */
const OF_CLIENT = { settings: ['maxRetries: 0'] };

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
    ...OF_CLIENT,
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
    ...OF_CLIENT,
  }),
  {
    name: 'genkit, @genkit-ai/compat-oai',
    key: 'genkit',
    packages: ['genkit', '@genkit-ai/compat-oai'],
    module: 'genkit',
    ...OF_CLIENT,
  },
];
