import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { admissionOf } from '../../../test/contracts/run-store.contract.js';
import { eventually } from '../../../test/support/conditions.js';
import type { StoredRun } from '../../query/index.js';
import { Database } from '../drivers/database.js';
import { LibsqlDriver } from '../drivers/libsql-driver.js';
import { Lease } from './lease.js';
import { LocalRun } from './local-run.js';
import { LocalRuns } from './local-runs.js';
import { Recovery } from './recovery.js';
import { SqlRunStore } from './sql-run-store.js';

const LEASE_MS = 20;

/** Local runs that count how often they were asked for those that wait in a queue: once in each round. */
class ObservedLocalRuns extends LocalRuns {
  rounds = 0;

  override queued(): LocalRun[] {
    this.rounds++;
    return super.queued();
  }
}

it('A run that ends while it is being promoted is not executed, and is no error', async () => {
  const errors: unknown[] = [];
  Logger.overrideLogger({ log: () => undefined, warn: () => undefined, error: (text) => errors.push(text) });
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-recovery-'));
  const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  // Rounds are only for databases that other processes use too.
  Object.defineProperty(driver, 'isShared', { value: true });
  const store = new SqlRunStore(driver);
  const { run } = await store.admit(admissionOf());
  await store.finish(run, { status: 'completed' }, '');

  const database = new Database(driver);
  const localRuns = new ObservedLocalRuns();
  localRuns.add(new LocalRun({ ...run, status: 'waiting' }, 0));
  const recovery = new Recovery(
    database,
    'this-process',
    new Lease(database, 'this-process', LEASE_MS),
    localRuns,
  );
  const executed: StoredRun[] = [];
  await recovery.start((stored) => executed.push(stored));
  await eventually(() => localRuns.rounds > 1);
  await recovery.stop();

  expect({ executed, errors }).toEqual({ executed: [], errors: [] });
  await store.close();
  await rm(directory, { recursive: true });
});
