/** The adapter of OpenAI Agents, as hosts import it from `nest-agent-query-openai-agents`. */
export { fromOpenAIAgents } from './from-openai-agents.js';
export type { AgentChoice, MemoryRef, OpenAIAgentsOptions, ToolApproval } from './openai-agents-options.js';
