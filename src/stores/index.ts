/** Durable stores, as `nest-agent-query/stores`: a file of the process's own, or Postgres. */
export { DEFAULT_DATABASE_URL, openStore, type StoreOptions } from './open-store.js';
export type { PostgresOptions } from './drivers/postgres-driver.js';
export type { StoredRetention } from './runs/sql-run-store.js';
