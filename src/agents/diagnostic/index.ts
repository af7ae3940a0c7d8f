/**
 * The agent that `nest-agent-query doctor` asks, as hosts import it from `nest-agent-query/agents/diagnostic`.
 */
export { diagnosticAgent } from './diagnostic-agent.js';
export { diagnosticHandler } from './diagnostic-handler.js';
