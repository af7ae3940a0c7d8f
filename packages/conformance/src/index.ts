/**
 * Checks from outside whether a service keeps the promises of the interface.
 *
 * WARNING: other programs depend on every name below.
 */
export { CannotCheck, checkConformance, type Extent } from './check-conformance.js';
export { type ConformancePromise, EDITION, type Edition, type Level, LEVELS } from './promise.js';
export { PROMISES } from './promises/index.js';
export type { Report, Result } from './report.js';
export { jsonOfReport, junitOfReport } from './reports/for-programs.js';
export { endpointOf, type Target } from './wire/target.js';
