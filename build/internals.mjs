/** What the programs of `test` use and no entry of the package exports: they must have the same classes as the service. */
export { ROWS } from '../dist/compiled/config/variables.js';
export { Base64Fault } from '../dist/compiled/query/body/base64-decoder.js';
export { readBody, readParsed } from '../dist/compiled/query/body/read-body.js';
export { QueryError } from '../dist/compiled/query/contract/errors.js';
export { BodyContent } from '../dist/compiled/query/files/content.js';
export { Spool } from '../dist/compiled/query/files/spool.js';
export { Run } from '../dist/compiled/query/memory/run.js';
export { DEFAULT_BODY_LIMITS } from '../dist/compiled/query/options/table.js';
export { Clock } from '../dist/compiled/query/platform/clock.js';
export { Runner } from '../dist/compiled/query/runs/one/runner.js';
export { SseResponse } from '../dist/compiled/query/sse/sse-response.js';
export { stopOnSignals } from '../dist/compiled/service/shutdown.js';
export { createService, explain, listen } from '../dist/compiled/service/start.js';
export { LibsqlDriver } from '../dist/compiled/stores/drivers/libsql-driver.js';
export { PostgresDriver } from '../dist/compiled/stores/drivers/postgres-driver.js';
export { SqliteThread } from '../dist/compiled/stores/drivers/sqlite-thread.js';
export { SqlDeliveryStore } from '../dist/compiled/stores/sql-delivery-store.js';
export { SqlRunStore } from '../dist/compiled/stores/sql-run-store.js';
