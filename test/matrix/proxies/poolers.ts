import { type PgBouncer, type PoolMode, startPgBouncer } from '../../support/pgbouncer.js';
import { startPgpool } from '../../support/pgpool.js';
import { printedVersion } from '../../support/proxy-process.js';
import type { Program } from './programs.js';

/** A pooler before a database, and what the service is started with besides its URL. */
export interface StartedPooler extends Pick<PgBouncer, 'url' | 'stop' | 'start' | 'close'> {
  variables?: Record<string, string>;
}

/** A pooler that is measured. */
export interface Pooler extends Program {
  start: (database: string, settings: readonly string[]) => Promise<StartedPooler>;
}

/** A variable of the service, which names the server itself. */
const DIRECT_URL = 'DATABASE_DIRECT_URL=…';

/** All poolers, in the order of the table. */
export const POOLERS: readonly Pooler[] = [
  bouncer('session', [], (database) => startPgBouncer(database, 'session')),
  bouncer('transaction', [DIRECT_URL], async (database, settings) => ({
    ...(await startPgBouncer(database, 'transaction')),
    ...(settings.includes(DIRECT_URL) && { variables: { DATABASE_DIRECT_URL: database } }),
  })),
  bouncer('statement', ['pool_mode = session'], (database, settings) =>
    startPgBouncer(database, settings.length > 0 ? 'session' : 'statement'),
  ),
  {
    name: 'pgpool-II',
    key: 'pgpool',
    settings: ["backend_flag0 = 'DISALLOW_TO_FAILOVER'"],
    version: () => printedVersion('pgpool', '--version'),
    start: startPgpool,
  },
];

function bouncer(mode: PoolMode, settings: readonly string[], start: Pooler['start']): Pooler {
  const version = () => printedVersion('pgbouncer', '--version');
  return { name: `PgBouncer, ${mode}`, key: `pgbouncer-${mode}`, settings, version, start };
}
