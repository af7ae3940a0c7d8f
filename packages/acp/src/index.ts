/** Coding agents that speak the Agent Client Protocol: `nest-agent-query-acp`. */
export type { AcpOptions, Approve, AskedCall } from './acp-options.js';
export { checkAcp } from './check-acp.js';
export { fromAcp } from './from-acp.js';
