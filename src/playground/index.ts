/**
 * A page to try an agent in a browser: `nest-agent-query/playground`.
 *
 * WARNING: hosts depend on every name below, as on those of the package root.
 */
export { PlaygroundModule, type PlaygroundOptions } from './playground.module.js';
