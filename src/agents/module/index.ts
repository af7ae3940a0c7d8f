/** The handler of a file of the operator: `AGENT=./agent.mjs`. */
export { loadModule } from './load-module.js';
export { EXIT_CODES, ModuleFailure } from './module-failure.js';
export { watchModule } from './reloading-handler.js';
