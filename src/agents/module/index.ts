/** The handler of a file of the operator: `AGENT=./agent.mjs`. */
export { loadHandler } from './load-handler.js';
export { watchHandler } from './reloading-handler.js';
