import fc from 'fast-check';

/** The stores on which schedules are executed. `slow` is the memory store behind steps that take some ticks. */
export const STORES = ['memory', 'slow', 'sqlite', 'postgres'] as const;
export type StoreName = (typeof STORES)[number];

/** Whether what a store keeps outlives the process. */
export function isDurable(store: StoreName): boolean {
  return store === 'sqlite' || store === 'postgres';
}

/** The options of the host that differ from schedule to schedule. */
export interface Settings {
  adapter: 'express' | 'fastify';
  maxRunning: number;
  maxWaiting: number;
  maxWaitingPerSession: number;
  /** Undefined for no limit. */
  maxRunningPerOwner: number | undefined;
  maxWaitingPerOwner: number | undefined;
  sessionPolicy: 'enqueue' | 'reject' | 'interrupt';
  disconnect: 'continue' | 'cancel' | 'grace';
  /** The store keeps no more of a log than it must. */
  keepsShortLogs: boolean;
  /** For the delays of the store `slow`. */
  storeSeed: number;
}

export const settingsArbitrary: fc.Arbitrary<Settings> = fc.record({
  adapter: fc.constantFrom('express' as const, 'fastify' as const),
  maxRunning: fc.integer({ min: 1, max: 3 }),
  maxWaiting: fc.integer({ min: 0, max: 4 }),
  maxWaitingPerSession: fc.integer({ min: 0, max: 3 }),
  maxRunningPerOwner: fc.constantFrom(undefined, 1, 2),
  maxWaitingPerOwner: fc.constantFrom(undefined, undefined, 0, 2),
  sessionPolicy: fc.constantFrom('enqueue' as const, 'reject' as const, 'interrupt' as const),
  disconnect: fc.constantFrom('continue' as const, 'cancel' as const, 'grace' as const),
  keepsShortLogs: fc.boolean(),
  storeSeed: fc.nat({ max: 1000 }),
});

/** How long a run may be without followers under the policy `grace`. */
export const GRACE_MS = 300;

/** How long a handler may take to stop. */
export const STOP_DEADLINE_MS = 40;

/** The lease of a process that uses Postgres. */
export const LEASE_MS = 400;

const HOUR_MS = 60 * 60_000;

/** How long the stores keep what has ended. */
export const RUN_MS = HOUR_MS;
export const SESSION_MS = 24 * HOUR_MS;

/** The bytes of a file that a query has; above `MEMORY_BYTES` it goes to the spool. */
export const FILE_TEXT = 'A file that is too large for memory.';
export const MEMORY_BYTES = 8;
