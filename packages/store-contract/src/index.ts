/**
 * The tests of what `RunStore` of `nest-agent-query` promises, for a store of your own, with Jest or Vitest.
 *
 * WARNING: the tests of stores depend on every name below.
 */
export { describeRunStore, type DescribeRunStoreOptions } from './describe-run-store.js';
export type { OpenStore, OpenStoreFor, StoreCapability, StoreSettings } from './opened-store.js';
export type { TestRunner } from './runner.js';
