import fc from 'fast-check';

/** Whether suites have their long form: `TESTS=all`, as in `npm run everything`. */
export const IS_LONG = process.env['TESTS'] === 'all';

/** The share of its cases that a property tries. */
export const SHARE_OF_CASES = IS_LONG ? 1 : 0.25;

/** How many cases of so many a property tries. */
export function casesOf(count: number): number {
  return Math.ceil(count * SHARE_OF_CASES);
}

/** `it` of a test that only the long form executes, because a test of the short form executes the same code. */
export const itInLongForm = IS_LONG ? it : it.skip;

/** `describe` of tests that only the long form executes, for the same reason. */
export const describeInLongForm = IS_LONG ? describe : describe.skip;

// A run is repeated with the seed that it has printed.
if (process.env['SEED']) fc.configureGlobal({ seed: Number(process.env['SEED']) });

export type StoreKind = 'memory' | 'file' | 'postgres';

/** The stores that a suite over HTTP tries. That of a file has the statements of Postgres, and the contract of stores tries both. */
export const STORE_KINDS: readonly StoreKind[] = IS_LONG
  ? ['memory', 'file', 'postgres']
  : ['memory', 'postgres'];
