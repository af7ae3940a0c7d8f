/** Durable stores, published as `nest-agent-query/stores`: a SQLite file of one process, or a Postgres database. */
export { DEFAULT_DATABASE_URL, openStore, type StoreOptions } from './open-store.js';
export { type OpenPool, postgresPool } from './postgres-pool.js';
export type { PostgresOptions } from './drivers/postgres-driver.js';
export type { StoredRetention } from './process/retention-options.js';
