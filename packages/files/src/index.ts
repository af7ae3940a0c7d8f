/**
 * The built-in agent, as hosts import it from `nest-agent-query-files`.
 *
 * It is a separate entry point of the package, so that importing the root loads none of the libraries for file formats.
 */
export { FilesHandler } from './files-handler.js';
export { FilesLimits } from './files-limits.js';
