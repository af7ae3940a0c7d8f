/**
 * The built-in agent, as hosts import it from `nest-agent-query/agents/files`.
 *
 * It has a door of its own so that the root of the package loads none of the libraries that it reads formats with.
 */
export { FilesHandler } from './files-handler.js';
export { FilesLimits } from './files-limits.js';
