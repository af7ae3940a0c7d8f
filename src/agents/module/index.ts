/** The handler of a file of the operator: `AGENT=./agent.mjs`. */
export { loadModule, type ModuleHandler } from './load-module.js';
export { EXIT_CODES, ModuleFailure } from './module-failure.js';
