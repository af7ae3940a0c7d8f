/** The agent that asks a model, as hosts import it from `nest-agent-query-ai-sdk/model`. */
export type { CallerTool } from './caller-tools.js';
export { mcpServersOf } from './mcp-options.js';
export type { McpHttpOptions, McpProgramOptions, McpServerOptions } from './mcp-options.js';
export { type ModelHandler, modelHandler } from './model-handler.js';
export type { ModelOptions } from './model-options.js';
export type { ModelInputKind, ModelKwarg } from 'nest-agent-query/agents';
