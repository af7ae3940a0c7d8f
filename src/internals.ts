/** What the programs of `test` use and no entry of the package exports: they must have the same classes as the service. */
export { ROWS } from './config/variables.js';
export { Base64Fault } from './query/body/base64-decoder.js';
export { readBody, readParsed } from './query/body/read-body.js';
export { QueryError } from './query/contract/errors.js';
export { BodyContent } from './query/files/content.js';
export { Spool } from './query/files/spool.js';
export { Run } from './query/memory/run.js';
export { DEFAULT_BODY_LIMITS } from './query/options/table.js';
export { Clock } from './query/platform/clock.js';
export { Runner } from './query/runs/one/runner.js';
export { SseResponse } from './query/sse/sse-response.js';
export { stopOnSignals } from './service/shutdown.js';
export { createService, explain, listen } from './service/start.js';
export { LibsqlDriver } from './stores/drivers/libsql-driver.js';
export { PostgresDriver } from './stores/drivers/postgres-driver.js';
export { SqliteThread } from './stores/drivers/sqlite-thread.js';
export { SqlDeliveryStore } from './stores/sql-delivery-store.js';
export { SqlRunStore } from './stores/sql-run-store.js';
