import { type Client, HEADER } from './programs.js';

/** Those of the AI SDK's chat, AG-UI, A2A and MCP. */
export const PROTOCOLS: readonly Client[] = [
  ...(['ai', 'ai-7'] as const).map((packageName) => ({
    name: `ai ${packageName === 'ai' ? '6' : '7'}, DefaultChatTransport`,
    key: packageName === 'ai' ? 'ai-chat' : 'ai-chat-7',
    packages: [packageName],
    module: 'ai-chat',
    options: { packageName },
    isNewer: packageName === 'ai-7',
    settings: [],
  })),
  ...(['@ag-ui/client', 'ag-ui-client-0'] as const).map((packageName) => ({
    name: `@ag-ui/client ${packageName === '@ag-ui/client' ? '1' : '0'}`,
    key: packageName === '@ag-ui/client' ? 'ag-ui' : 'ag-ui-0',
    packages: [packageName],
    module: 'ag-ui',
    options: { packageName },
    settings: [],
    reasons: { cut: 'a second promise, which callers do not get, is rejected too' },
  })),
  {
    name: '@tanstack/ai-client',
    key: 'tanstack',
    packages: ['@tanstack/ai-client'],
    module: 'tanstack',
    settings: [],
  },
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
    reasons: {
      stream:
        'among the pieces it shows data, such as usage, as a text of JSON; the session has the answer alone',
    },
  },
  {
    name: '@modelcontextprotocol/sdk',
    key: 'mcp-sdk',
    packages: ['@modelcontextprotocol/sdk'],
    module: 'mcp',
    options: { version: '2025-11-25' },
    settings: [],
  },
  {
    name: '@modelcontextprotocol/client',
    key: 'mcp-modern',
    packages: ['@modelcontextprotocol/client'],
    module: 'mcp',
    options: { version: '2026-07-28' },
    settings: [],
    reasons: { cut: 'a lost response is no error before its time limit, which is 60 s by default' },
  },
  {
    name: '@langchain/mcp-adapters',
    key: 'langchain-mcp',
    packages: ['@langchain/mcp-adapters'],
    module: 'langchain-mcp',
    settings: [],
  },
  {
    name: '@mastra/mcp',
    key: 'mastra-mcp',
    packages: ['@mastra/mcp'],
    module: 'mastra-mcp',
    settings: [HEADER],
    within: 'requestInit',
  },
  {
    name: 'mcp-client',
    key: 'mcp-client',
    packages: ['mcp-client'],
    module: 'mcp-client',
    settings: [],
  },
];
