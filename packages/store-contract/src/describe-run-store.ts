import { describeAdmission } from './admission.js';
import { describeAttempts } from './attempts.js';
import { describeCheckpoints } from './checkpoints.js';
import { describeDeliveries, describeRestartedDeliveries } from './deliveries.js';
import { describeEnd } from './end.js';
import { describeErasure } from './erasure.js';
import { describeFiles } from './files.js';
import { describeForks } from './forks.js';
import { describeIdempotencyKeys } from './idempotency-keys.js';
import { describeAskingOwners, describeAskingSessions } from './asking-queues.js';
import { describeInputs } from './inputs.js';
import { describeLists } from './lists.js';
import { describeLog, describeLogLength } from './log.js';
import { describeLongTexts } from './long-texts.js';
import { describeWith, openBeforeEach, type OpenStoreFor, type StoreCapability } from './opened-store.js';
import { describeOwners } from './owners.js';
import { describeParkedRuns } from './parked-runs.js';
import { describeReplacedTurns } from './replaced-turns.js';
import { describeRestart } from './restart.js';
import { describeRestartedOwners } from './restarted-owners.js';
import { describeRetention } from './retention.js';
import { describeRunLists } from './run-lists.js';
import { describe, type TestRunner, useRunner } from './runner.js';
import { describeSessionTrees } from './session-trees.js';
import { describeTaking } from './taking.js';
import { describeUsage } from './usage.js';
import { describeTurns } from './turns.js';
import { describeUnansweredInputs } from './unanswered-inputs.js';
import { describeUploads } from './uploads.js';

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
    describeWith('changesSessions', () => {
      describeReplacedTurns();
      describeForks();
      describeSessionTrees();
    });
    describeLists();
    describeRunLists();
    describeWith('ownerLimits', describeOwners);
    describeWith('retention', describeRetention);
    describeWith('files', describeFiles);
    describeWith('erasesRuns', describeErasure);
    describeWith('uploads', describeUploads);
    describeWith('usage', describeUsage);
    describeWith('inputs', () => {
      describeInputs();
      describeUnansweredInputs();
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
