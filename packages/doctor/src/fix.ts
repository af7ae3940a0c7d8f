import type { ProxyName } from './proxies.js';

/**
 * What to write into the configuration of a proxy, and what helps in any case (`always`). `%` is the subject of the finding. What is
 * for `unknown` is for each that has no text of its own.
 */
export type Fix = Partial<Record<ProxyName, string>> & { always?: string };

/** Begins what is said of a proxy that does not have the fault, or that cannot be told to leave it. */
export const NOTHING = 'nothing to set';
