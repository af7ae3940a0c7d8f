/**
 * Agents that speak A2A 1.0, behind the interface of `nest-agent-query`.
 *
 * WARNING: hosts depend on every name below. To add one is a promise to keep it; to remove or rename one is a major version.
 */
export { a2aHandler } from './a2a-handler.js';
export type { A2aOptions } from './a2a-handler.js';
