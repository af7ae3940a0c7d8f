/** What the contract suite uses of a test runner, as Jest and Vitest have it. */
export interface TestRunner {
  describe: (name: string, define: () => void) => void;
  it: DefineTest & { skip: DefineTest };
  beforeEach: DefineHook;
  afterEach: DefineHook;
  expect: Expect;
}

type DefineTest = (name: string, test: () => unknown, timeoutMs?: number) => void;
type DefineHook = (hook: () => unknown, timeoutMs?: number) => void;

/** Matchers, by their names. */
type Matchers<Returned> = Record<
  | 'toBe'
  | 'toBeDefined'
  | 'toBeGreaterThan'
  | 'toBeGreaterThanOrEqual'
  | 'toBeLessThan'
  | 'toBeLessThanOrEqual'
  | 'toBeUndefined'
  | 'toContain'
  | 'toEqual'
  | 'toHaveLength'
  | 'toMatch'
  | 'toMatchObject',
  (expected?: unknown) => Returned
>;

interface Expect {
  (value: unknown): Matchers<void> & {
    not: Matchers<void>;
    rejects: Matchers<Promise<void>>;
  };
  any(type: unknown): unknown;
  arrayContaining(values: readonly unknown[]): unknown;
}

/** A store may be a server that answers slowly. */
const TIMEOUT_MS = 60_000;

let runner: Partial<TestRunner> = globalThis as never;

/**
 * Names the runner that defines the tests from now on.
 *
 * @throws {Error} it lacks a function of `TestRunner`
 */
export function useRunner(chosen: Partial<TestRunner>): void {
  for (const name of ['describe', 'it', 'beforeEach', 'afterEach', 'expect'] as const) {
    if (typeof chosen[name] === 'function') continue;
    throw new Error(
      `The test runner has no function "${name}". Pass your runner: describeRunStore(name, open, { runner }), with ` +
        "import * as runner from 'vitest', or from '@jest/globals'.",
    );
  }
  runner = chosen;
}

export const describe: TestRunner['describe'] = (name, define) => runner.describe!(name, define);
export const beforeEach: DefineHook = (hook) => runner.beforeEach!(hook, TIMEOUT_MS);
export const afterEach: DefineHook = (hook) => runner.afterEach!(hook, TIMEOUT_MS);
export const expect: Expect = Object.assign((value: unknown) => runner.expect!(value), {
  any: (type: unknown) => runner.expect!.any(type),
  arrayContaining: (values: readonly unknown[]) => runner.expect!.arrayContaining(values),
});

const define: DefineTest = (name, test) => runner.it!(name, test, TIMEOUT_MS);
const skip: DefineTest = (name, test) => runner.it!.skip(name, test);
export const it = Object.assign(define, { skip });
