/** The JSON shapes of the interface: types only. */
export type * from './envelopes.js';
export type * from './inputs.js';
export type * from './problems.js';
export type * from './runs.js';
export type * from './sessions.js';
export type * from './usage.js';
export type * from './webhooks.js';
