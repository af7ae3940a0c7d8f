/**
 * The hub as the spokes and the package see it.
 *
 * Every name here is a decision: hosts depend on it. `test/public-surface.spec.ts` holds the list.
 */
export { log, message } from './envelopes.js';
export { AgentHandler } from './ports/agent-handler.js';
export type * from './ports/agent-handler.js';
export type * from './wire.js';
