/**
 * Tests what is between a caller and a service: proxies that delay, cut, limit or change streams.
 *
 * WARNING: other programs depend on every name below.
 */
export { examine, type Extent } from './examine.js';
export { type CheckName, CHECKS, type Finding, type Verdict } from './finding.js';
export type { FixName } from './fixes.js';
export { PROXIES, type ProxyName, type SeenProxy } from './proxies.js';
export { jsonOfReport, remediesFor, type Report } from './report.js';
export type { Remedy } from './remedies.js';
export type { Target } from './target.js';
