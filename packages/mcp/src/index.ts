export { McpModule } from './mcp.module.js';
export type { McpOptions, McpTool } from './mcp-options.js';
