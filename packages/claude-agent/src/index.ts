export { fromClaudeAgent } from './from-claude-agent.js';
export type { ClaudeAgentOptions, ClaudeCall } from './claude-agent-options.js';
export type {
  ClaudeBlock,
  ClaudeExecution,
  ClaudeMessage,
  ClaudePrompt,
  ClaudeQuery,
  ClaudeQueryOptions,
  HookedCall,
} from './sdk.js';
