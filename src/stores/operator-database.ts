import { existsSync } from 'node:fs';
import { Database } from './drivers/database.js';
import type { Driver } from './drivers/driver.js';
import { LibsqlDriver } from './drivers/libsql-driver.js';
import { pathOf } from './open-store.js';
import { moveAll } from './process/journal.js';
import { SqlRunStore } from './sql-run-store.js';

/**
 * Opens a database for a command of its operator. The command executes no run and recovers none, so the store is not opened.
 *
 * @param mayBeNew whether a file is made that is not there
 * @throws Error with a sentence for the operator
 */
export async function openForOperator(
  url: string,
  mayBeNew: boolean,
): Promise<{ driver: Driver; store: SqlRunStore }> {
  const isPostgres = /^postgres(ql)?:\/\//.test(url);
  if (!isPostgres && !url.startsWith('file:'))
    throw new Error('The database URL must be file:<path> or postgres://<user>@<host>/<database>.');
  if (!isPostgres && !mayBeNew && !existsSync(pathOf(url)))
    throw new Error(`There is no database ${pathOf(url)}. Name the file of the service.`);
  const driver = isPostgres ? await openPostgres(url) : await LibsqlDriver.open(pathOf(url));
  await moveAll(new Database(driver));
  return { driver, store: new SqlRunStore(driver) };
}

async function openPostgres(url: string): Promise<Driver> {
  const { PostgresDriver } = await import('./drivers/postgres-driver.js');
  return PostgresDriver.open(new URL(url));
}
