import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { sql } from 'kysely';
import { SHARE_OF_CASES } from '../../test/support/long-form.js';
import { deferred, eventually } from '../../test/support/conditions.js';
import { OneDatabase } from '../../test/support/one-database.js';
import type { StoreHost } from '../query/index.js';
import { describeRunStore } from 'nest-agent-query-store-contract';
import { admissionOf, eventsOf, keptAnswer } from '../../packages/store-contract/src/opened-store.js';
import { approval, asking, yes } from '../../packages/store-contract/src/inputs.js';
import { LibsqlDriver } from './drivers/libsql-driver.js';
import { SqlRunStore } from './sql-run-store.js';

const files = await mkdtemp(join(tmpdir(), 'nest-agent-query-store-'));
const file = new OneDatabase(async () => {
  const driver = await LibsqlDriver.open(join(files, 'runs.db'));
  // No machine loses its power here. What a process has written survives the process anyway.
  await sql`pragma synchronous = off`.execute(driver.db);
  return driver;
});
/** Processes of others do not matter to a file: this is only how often it looks for requests that have expired. */
const LEASE_MS = 400;
beforeAll(() => {
  // A store that looks around at the moment of its crash reports an outage.
  Logger.overrideLogger(false);
});
afterAll(async () => {
  await file.close();
  await rm(files, { recursive: true });
});

describeRunStore(
  'SqlRunStore in a file',
  async ({ retention, events }) => {
    let store: SqlRunStore;
    const open = async (told: StoreHost) => {
      store = new SqlRunStore(await file.driver(), { retention, leaseMs: LEASE_MS });
      await store.open(told);
      return store;
    };
    return {
      store: await open(events),
      sweep: () => store.sweep(),
      restart: async (told) => {
        await file.crash(store);
        return open(told);
      },
      close: async () => {
        await store.close();
        await file.empty();
        await rm((await file.driver()).contentDirectory, { recursive: true, force: true });
      },
    };
  },
  { cases: SHARE_OF_CASES },
);

it('A run is promoted also when the end before it is reported earlier than its admission', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-store-'));
  const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  const store = new SqlRunStore(driver);
  await store.open(eventsOf());
  const session = { id: 's', policy: 'enqueue' as const, maxWaiting: 9 };
  const { run: first } = await store.admit(admissionOf({ session }));

  const transact = driver.transact.bind(driver);
  const [committed, reported] = [deferred(), deferred()];
  driver.transact = async (work) => {
    driver.transact = transact;
    const value = await transact(work);
    committed.resolve();
    await reported.promise;
    return value;
  };
  const admitting = store.admit(admissionOf({ session }));
  await committed.promise;
  const finishing = store.end(first, { status: 'completed' }, keptAnswer());
  await eventually(async () => (await store.turns(first.owner, 's', { after: 0, limit: 1 }))!.total === 1);
  reported.resolve();
  const { run: second } = await admitting;
  expect((await finishing)!.next).toMatchObject({ id: second.id });
  expect(await store.take(1)).toMatchObject([{ id: second.id }]);
  await store.close();
  await rm(directory, { recursive: true });
});

it('The envelope that the store returns with an answer is the one of its log', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-store-'));
  const store = new SqlRunStore(await LibsqlDriver.open(join(directory, 'runs.db')));
  await store.open(eventsOf());
  const { run } = await store.admit(admissionOf());
  await store.inputs.ask(run, asking(approval('a'), approval('b', { private: true }), approval('c')));
  for (const answers of [[yes('b')], [yes('c'), yes('a')]]) {
    const { before, text } = await store.inputs.answer(run, { answers, by: 'ann', detached: false });
    expect((await store.read(run, before)).lines).toBe(text);
  }
  await store.close();
  await rm(directory, { recursive: true });
});
