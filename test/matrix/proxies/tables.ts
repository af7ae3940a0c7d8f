import { type Program, PROXIES } from './programs.js';
import type { Head } from './table.js';
import { PROXY_COLUMNS } from './words.js';

/** The tables of docs/proxies.md, by the names of their markers. */
export const TABLES: Record<string, Head & { programs: readonly Program[] }> = {
  proxies: { first: 'Proxy', columns: PROXY_COLUMNS, programs: PROXIES },
};
