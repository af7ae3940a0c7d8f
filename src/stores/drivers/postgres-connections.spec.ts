import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { pipeline } from 'node:stream';
import { sql } from 'kysely';
import { openDatabase, type TestDatabase } from '../../../test/support/postgres.js';
import type { Db } from '../schema/tables.js';
import { PostgresDriver } from './postgres-driver.js';

let database: TestDatabase;
let proxy: Server;
let driver: PostgresDriver;
/** How often the driver has sent something after an answer. */
let roundTrips = 0;

beforeAll(async () => {
  database = await openDatabase();
  const url = new URL(database.url);
  const port = Number(url.port);
  proxy = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    let isAnswered = true;
    client.on('data', () => {
      if (isAnswered) roundTrips++;
      isAnswered = false;
    });
    server.on('data', () => (isAnswered = true));
    pipeline(client, server, client, () => undefined);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  url.port = String((proxy.address() as AddressInfo).port);
  driver = await PostgresDriver.open(url);
});

afterEach(async () => void (await driver.db.deleteFrom('probes').execute()));

afterAll(async () => {
  await driver.close();
  proxy.close();
  await database.close();
});

const write = (db: Db, text: string) => db.insertInto('probes').values({ text }).execute();
const written = async () => {
  const rows = await driver.db.selectFrom('probes').select('text').orderBy('text').execute();
  return rows.map(({ text }) => text);
};

it('The locks of a transaction, and its beginning before a lock, need no round trip of their own', async () => {
  await driver.db.selectFrom('probes').select('text').execute();
  const before = roundTrips;
  await driver.transact(async (db) => {
    await driver.lock(db, 'a');
    await driver.lock(db, 'b', 'c');
    await write(db, 'one');
    // With that: the beginning with its locks, the first write, this lock with the second write, and the commit.
    await driver.lock(db, 'd');
    await write(db, 'two');
  });
  expect(roundTrips - before).toBe(4);
  expect(await written()).toEqual(['one', 'two']);
});

it('Transactions that wait for the locks of each other are repeated, and each is committed once', async () => {
  const both = new EventEmitter();
  const bothWait = once(both, 'waiting');
  let attempts = 0;
  const lockBoth = (first: string, second: string) =>
    driver.transact(async (db) => {
      await driver.lock(db, first);
      await write(db, first);
      if (++attempts === 2) both.emit('waiting');
      await bothWait;
      await driver.lock(db, second);
      await write(db, `${first} ${second}`);
    });
  await Promise.all([lockBoth('a', 'b'), lockBoth('b', 'a')]);
  expect(attempts).toBe(3);
  expect(await written()).toEqual(['a', 'a b', 'b', 'b a']);
});

it('A transaction whose work is refused behind a lock has written nothing', async () => {
  const refused = driver.transact(async (db) => {
    await write(db, 'refused');
    await driver.lock(db, 'a');
    throw new RangeError('no');
  });
  await expect(refused).rejects.toThrow(new RangeError('no'));
  expect(await written()).toEqual([]);
});

it('A lock outside of a transaction is waited for', async () => {
  const order: string[] = [];
  let waited: Promise<unknown> | undefined;
  await driver.transact(async (db) => {
    await driver.lock(db, 'a');
    await write(db, 'locked');
    waited = driver.lock(driver.db, 'a').then(() => order.push('waited'));
    const isWaiting = sql<{
      count: number;
    }>`select count(*) from pg_locks where locktype = 'advisory' and not granted`;
    while ((await isWaiting.execute(db)).rows[0]!.count === 0);
    order.push('released');
  });
  await waited;
  expect(order).toEqual(['released', 'waited']);
});
