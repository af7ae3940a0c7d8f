import { POOLERS } from './poolers.js';
import { type Program, PROXIES } from './programs.js';
import type { Head } from './table.js';
import { POOLER_COLUMNS, PROXY_COLUMNS } from './words.js';

/** The tables of docs/proxies.md, by the names of their markers. */
export const TABLES: Record<string, Head & { programs: readonly Program[] }> = {
  proxies: { first: 'Proxy', columns: PROXY_COLUMNS, programs: PROXIES },
  poolers: { first: 'Pooler', columns: POOLER_COLUMNS, programs: POOLERS },
};
