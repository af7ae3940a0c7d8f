/** The public surface of `nest-agent-query`. */
export * from './query/index.js';
