import { describeAdmission } from './store-contract/admission.js';
import { describeAttempts } from './store-contract/attempts.js';
import { describeCheckpoints } from './store-contract/checkpoints.js';
import { describeDeliveries, describeRestartedDeliveries } from './store-contract/deliveries.js';
import { describeEnd } from './store-contract/end.js';
import { describeFiles } from './store-contract/files.js';
import { describeIdempotencyKeys } from './store-contract/idempotency-keys.js';
import { describeAskingOwners, describeAskingSessions } from './store-contract/asking-queues.js';
import { describeInputs } from './store-contract/inputs.js';
import { describeLists } from './store-contract/lists.js';
import { describeLog, describeLogLength } from './store-contract/log.js';
import { describeLongTexts } from './store-contract/long-texts.js';
import {
  describeWith,
  openBeforeEach,
  type OpenStoreFor,
  type StoreCapability,
} from './store-contract/opened-store.js';
import { describeOwners } from './store-contract/owners.js';
import { describeParkedRuns } from './store-contract/parked-runs.js';
import { describeRestart } from './store-contract/restart.js';
import { describeRestartedOwners } from './store-contract/restarted-owners.js';
import { describeRetention } from './store-contract/retention.js';
import { describe, type TestRunner, useRunner } from './store-contract/runner.js';
import { describeSessionChanges } from './store-contract/session-changes.js';
import { describeTaking } from './store-contract/taking.js';
import { describeUsage } from './store-contract/usage.js';
import { describeTurns } from './store-contract/turns.js';
import { describeUploads } from './store-contract/uploads.js';

/** How `describeRunStore` tests a store. */
export interface DescribeRunStoreOptions {
  /** What the store does not have, each with the reason. The tests of it are skipped, and show the reason. Default: nothing. */
  without?: Partial<Record<StoreCapability, string>>;
  /** The share of their cases that the tests of properties try: above 0, and at most 1. Default: 1. */
  cases?: number;
  /** The functions of the test runner. Default: the global ones, which Jest has, and Vitest with `globals: true`. */
  runner?: Partial<TestRunner>;
}

/**
 * Defines the tests of what `RunStore` promises, for a store of your own. It is called where other tests are defined, with Jest or
 * Vitest.
 *
 * @param name what the store is called in the names of the tests
 * @param open opens an empty store. Called before each test; its `close` is called afterwards
 * @throws {Error} there is no test runner, or it lacks a function
 *
 * @example
 * describeRunStore('MyRunStore', async ({ events }) => {
 *   const store = new MyRunStore();
 *   await store.open(events);
 *   return { store, close: () => store.close() };
 * });
 */
export function describeRunStore(
  name: string,
  open: OpenStoreFor,
  { without = {}, cases = 1, runner = globalThis as Partial<TestRunner> }: DescribeRunStoreOptions = {},
): void {
  useRunner(runner);
  describe(`${name} as a RunStore`, () => {
    openBeforeEach(open, without, cases);
    describeAdmission();
    describeIdempotencyKeys();
    describeTaking();
    describeLog();
    describeWith('logLength', describeLogLength);
    describeEnd();
    describeTurns();
    describeLongTexts();
    describeWith('changesSessions', describeSessionChanges);
    describeLists();
    describeWith('ownerLimits', describeOwners);
    describeWith('retention', describeRetention);
    describeWith('files', describeFiles);
    describeWith('uploads', describeUploads);
    describeWith('usage', describeUsage);
    describeWith('inputs', () => {
      describeInputs();
      describeAskingSessions();
      describeWith('durable', describeParkedRuns);
      describeWith('ownerLimits', describeAskingOwners);
    });
    describeWith('deliveries', describeDeliveries);
    describeWith('durable', () => {
      describeWith('deliveries', describeRestartedDeliveries);
      describeRestart();
      describeAttempts();
      describeCheckpoints();
      describeWith('ownerLimits', describeRestartedOwners);
    });
  });
}
