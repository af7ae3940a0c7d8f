import type { Head } from '../matrix/proxies/table.js';
import { MODELS } from './models.js';
import type { Client } from './programs.js';
import { PROTOCOLS } from './protocols.js';
import { READERS } from './readers.js';
import { COLUMNS } from './words.js';

/** The tables of docs/clients.md, by the names of their markers. */
export const TABLES: Record<string, Head & { clients: readonly Client[] }> = {
  models: { first: 'Client', columns: COLUMNS, clients: MODELS },
  readers: { first: 'Reader', columns: COLUMNS, clients: READERS },
  protocols: { first: 'Client', columns: COLUMNS, clients: PROTOCOLS },
};
