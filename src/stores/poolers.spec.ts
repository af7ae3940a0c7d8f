import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { sql } from 'kysely';
import pg from 'pg';
import { eventually, eventuallyElsewhere } from '../../test/support/conditions.js';
import { describeWithPgBouncer, type PoolMode, startPgBouncer } from '../../test/support/pgbouncer.js';
import { openDatabase, type TestDatabase } from '../../test/support/postgres.js';
import type { Signal } from '../query/index.js';
import { PostgresDriver } from './drivers/postgres-driver.js';
import { openStore } from './open-store.js';
import { postgresPool } from './postgres-pool.js';
import type { Db } from './schema/tables.js';

const IGNORED = 'ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout';

describeWithPgBouncer('A store behind PgBouncer', () => {
  let database: TestDatabase;
  /** What is to be closed after a test, the last first. */
  let open: { close(): Promise<void> }[] = [];
  let log: string[];

  beforeAll(async () => {
    database = await openDatabase();
    // The tables: the tests below do not wait for them.
    await (await PostgresDriver.open(new URL(database.url))).close();
  });
  afterAll(() => database.close());
  beforeEach(() => {
    log = [];
    for (const level of ['log', 'warn', 'error'] as const)
      jest
        .spyOn(Logger.prototype, level)
        .mockImplementation((text: string) => void log.push(`${level} ${text}`));
  });
  afterEach(async () => {
    for (const each of open.reverse()) await each.close();
    open = [];
    jest.restoreAllMocks();
  });

  async function closedAfterwards<T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> {
    const opened = await opening;
    open.push(opened);
    return opened;
  }
  const bouncer = (mode: PoolMode, settings: string[] = [], users?: string[]) =>
    closedAfterwards(startPgBouncer(database.url, mode, settings, users));
  const driverOf = (url: string, options: Parameters<typeof PostgresDriver.open>[1] = {}) =>
    closedAfterwards(PostgresDriver.open(new URL(url), { connectTimeoutMs: 2_000, ...options }));
  const clientOf = async (url: string) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    open.push({ close: () => client.end() });
    return client;
  };

  describe.each([
    ['session', []],
    ['transaction', []],
    ['session', [IGNORED]],
    ['transaction', [IGNORED]],
  ] satisfies [PoolMode, string[]][])('in %s mode, with the settings %j', (mode, settings) => {
    const limitsIn = async (db: Db) => {
      const query = sql<object>`select current_setting('statement_timeout') as statement,
        current_setting('idle_in_transaction_session_timeout') as idle`;
      return (await query.execute(db)).rows[0];
    };

    it('has its limits of time in every statement and transaction, and other clients do not', async () => {
      const { url } = await bouncer(mode, settings);
      const driver = await driverOf(url, { statementTimeoutMs: 7_000 });
      const limits = { statement: '7s', idle: '4s' };
      expect(await limitsIn(driver.db)).toEqual(limits);
      expect(await driver.transact(limitsIn)).toEqual(limits);
      expect(await driver.snapshot(limitsIn)).toEqual(limits);
      expect(await driver.transact((db) => driver.lock(db, 'a').then(() => limitsIn(db)))).toEqual(limits);
      const stranger = await clientOf(url);
      const { rows } = await stranger.query('show statement_timeout');
      expect(rows).toEqual([{ statement_timeout: '0' }]);
    });

    it('commits each statement and each transaction, or nothing of it', async () => {
      const driver = await driverOf((await bouncer(mode, settings)).url);
      const write = (db: Db, text: string) => db.insertInto('probes').values({ text }).execute();
      await driver.db.deleteFrom('probes').execute();
      const tooMuch = sql`with written as (insert into probes values ('no') returning 1) select 1 / 0`;
      const wrong = Array.from({ length: 20 }, () =>
        tooMuch.execute(driver.db.withSchema('agent_query')).catch(() => 0),
      );
      const right = Array.from({ length: 20 }, (_, index) => write(driver.db, `${index}`));
      const undone = driver.transact(async (db) => {
        await write(db, 'undone');
        throw new RangeError('no');
      });
      await expect(undone).rejects.toThrow(new RangeError('no'));
      await Promise.all([...wrong, ...right, driver.transact((db) => write(db, 'done'))]);
      const rows = await driver.db.selectFrom('probes').select('text').execute();
      expect(rows.map(({ text }) => text).sort()).toEqual([...Array(20).keys(), 'done'].map(String).sort());
    });

    it('counts the queries of owners, whichever connection of the server it has', async () => {
      const { url } = await bouncer(mode, [...settings, 'server_round_robin = 1']);
      const { pool } = await closedAfterwards(postgresPool(url));
      const statement = { name: 'named', text: 'select $1::int + 1 as sum', values: [1] };
      const answers = await Promise.all(Array.from({ length: 20 }, () => pool.query(statement)));
      for (const { rows, rowCount } of answers) expect([rows, rowCount]).toEqual([[{ sum: 2 }], 1]);
    });
  });

  it('ends a statement that takes too long, and a transaction that does nothing', async () => {
    const driver = await driverOf((await bouncer('transaction')).url, { statementTimeoutMs: 1_000 });
    const tooLong = sql`select pg_sleep(60)`.execute(driver.db);
    await expect(tooLong).rejects.toThrow('canceling statement due to statement timeout');
    const idle = driver.transact(async (db) => {
      await sql`select 1`.execute(db);
      const states = sql`select 1 from pg_stat_activity where state = 'idle in transaction' and datname = current_database()`;
      await eventuallyElsewhere(async () => (await states.execute(driver.db)).rows.length === 0);
      await sql`select 2`.execute(db);
    });
    await expect(idle).rejects.toThrow();
  });

  const refusalOf = async (url: string, waitMs = 60_000) => {
    const { message } = (await openStore(url, { waitMs }).catch((error: Error) => error)) as Error;
    return message
      .replaceAll(new URL(url).host, 'host')
      .replaceAll(new URL(database.url).pathname.slice(1), 'runs');
  };
  const BEGIN = 'The database host/runs, schema agent_query cannot be opened: ';

  it('is not waited for in statement mode', async () => {
    const { url } = await bouncer('statement');
    expect(await refusalOf(url)).toBe(
      `${BEGIN}transaction blocks not allowed in statement pooling mode. ` +
        'PgBouncer with pool_mode = statement cannot be used. Set pool_mode = session for this database.',
    );
    expect(log).toEqual([]);
  });

  it('is not waited for if the URL has a parameter that PgBouncer refuses', async () => {
    const { url } = await bouncer('session');
    expect(await refusalOf(`${url}?lock_timeout=3`)).toBe(
      `${BEGIN}unsupported startup parameter: lock_timeout. Remove lock_timeout from the URL, ` +
        'or set ignore_startup_parameters = lock_timeout in the section [pgbouncer] of its configuration.',
    );
  });

  it('is not waited for with a wrong password, or a user or a database that does not exist', async () => {
    const { url } = await bouncer('session', ['auth_type = scram-sha-256'], ['"test" "right"']);
    const USER = 'Check the user and the password of the URL, and pg_hba.conf of the server.';
    const refused = `${BEGIN}SASL authentication failed. ${USER}`;
    expect(await refusalOf(url.replace('test@', 'test:wrong@'))).toBe(refused);
    expect(await refusalOf(url.replace('test@', 'unknown:wrong@'))).toBe(refused);
    const right = url.replace('test@', 'test:right@').replace(/\/[^/]*$/, '/none');
    expect(await refusalOf(right)).toContain(
      'database "none" does not exist. Create the database, or name another one in the URL.',
    );
  });

  it('is waited for while PgBouncer takes no more clients, and the log says why', async () => {
    const { url } = await bouncer('session', ['max_client_conn = 1']);
    const other = await clientOf(url);
    const opening = openStore(url, { waitMs: 60_000, postgres: { poolSize: 1 } });
    await eventuallyElsewhere(() => log.length > 0);
    const { host } = new URL(url);
    expect(log).toEqual([
      `warn The Postgres server ${host} cannot be used yet: no more connections allowed (max_client_conn). ` +
        'It is tried again until 60000 ms have passed.',
    ]);
    await other.end();
    await (await opening).close();
  });

  it('is waited for while PgBouncer has no connection of the server', async () => {
    const { url } = await bouncer('session', ['default_pool_size = 1', 'query_wait_timeout = 1']);
    await (await clientOf(url)).query('select 1');
    expect(await refusalOf(url, 0)).toBe(`${BEGIN}query_wait_timeout`);
  });

  it.each(['session', 'transaction'] as const)(
    'is waited for in %s mode while PgBouncer reaches no server',
    async (mode) => {
      const server = new URL(database.url);
      server.port = '1';
      const { url } = await closedAfterwards(startPgBouncer(server.href, mode, ['query_wait_timeout = 1']));
      expect(await refusalOf(url, 0)).toMatch(
        /cannot be opened: (query_wait_timeout|server login has been failing, try again later \(server_login_retry\))$/,
      );
    },
  );

  /** The signals of a process, and what it receives. */
  async function joined(url: string, directUrl?: string) {
    const { signals } = await driverOf(url, { directUrl });
    const received: Signal[] = [];
    await signals.listen({ receive: (signal) => received.push(signal), missed: () => undefined });
    return { signals, received };
  }
  const slice = { first: 1, count: 1, lines: '"a"', endOffset: 3, ended: false };
  const newsOf = (runId: string): Signal => ({ type: 'news', runId, slice });
  const WARNING =
    'warn Signals do not arrive. Is there a pooler in transaction mode? Use its session mode, or let DATABASE_DIRECT_URL ' +
    '(postgres.directUrl of openStore) name the server itself. Until then, followers on other processes are late.';

  it('receives signals in session mode, and says nothing', async () => {
    const { url } = await bouncer('session');
    const [one, two] = [await joined(url), await joined(url)];
    one.signals.send(newsOf('r'));
    await eventually(() => two.received.length > 0);
    expect(two.received).toEqual([newsOf('r')]);
    expect([one.signals.trouble, log]).toEqual([undefined, []]);
  });

  it('says once that signals do not arrive in transaction mode, and sends no slices', async () => {
    const { url } = await bouncer('transaction');
    const late = await joined(url);
    expect([late.signals.trouble, log]).toEqual(['Signals do not arrive.', [WARNING]]);
    const direct = await joined(database.url);
    late.signals.send(newsOf('r'));
    await eventually(() => direct.received.length > 0);
    expect(direct.received).toEqual([{ type: 'news', runId: 'r' }]);
    expect(log).toEqual([WARNING]);
  });

  it('hands no signal to other clients of PgBouncer in transaction mode', async () => {
    const { url } = await bouncer('transaction', ['default_pool_size = 1']);
    const late = await joined(url);
    const stranger = await clientOf(url);
    const heard: unknown[] = [];
    stranger.on('notification', ({ payload }) => heard.push(payload));
    const direct = await joined(database.url);
    const witness = await joined(database.url);
    for (let round = 0; round < 20; round++) {
      direct.signals.send(newsOf(`${round}`));
      await eventually(() => witness.received.length > round);
      // Its server connection is the only one: what that has heard comes before the answer.
      await stranger.query('select 1');
    }
    expect([heard, late.received]).toEqual([[], []]);
  });

  it('receives signals again when PgBouncer is back in session mode, and sends slices again', async () => {
    const pooler = await bouncer('transaction');
    const one = await joined(pooler.url);
    await pooler.stop();
    await pooler.start('session');
    await eventuallyElsewhere(() => one.signals.trouble === undefined);
    expect(log).toEqual([WARNING, 'log Signals arrive again.']);
    const direct = await joined(database.url);
    one.signals.send(newsOf('there'));
    direct.signals.send(newsOf('back'));
    await eventually(() => direct.received.length + one.received.length === 2);
    expect([direct.received, one.received]).toEqual([[newsOf('there')], [newsOf('back')]]);
  });

  it('receives signals in transaction mode through a direct URL', async () => {
    const { url } = await bouncer('transaction');
    const [one, two] = [await joined(url, database.url), await joined(url, database.url)];
    one.signals.send(newsOf('r'));
    await eventually(() => two.received.length > 0);
    expect(two.received).toEqual([newsOf('r')]);
    expect([one.signals.trouble, log]).toEqual([undefined, []]);
  });

  it('says that a direct URL names another database', async () => {
    const { url } = await bouncer('transaction');
    const other = await closedAfterwards(openDatabase());
    const { signals } = await joined(url, other.url);
    expect([signals.trouble, log]).toEqual([
      'Signals do not arrive.',
      [
        'warn Signals do not arrive. DATABASE_DIRECT_URL (postgres.directUrl of openStore) must name the database of the store, ' +
          'on the server itself or through a pooler in session mode. Until then, followers on other processes are late.',
      ],
    ]);
  });

  it('starts while the server of a direct URL is away, says so without a password, and receives signals when it is back', async () => {
    const pooler = await bouncer('transaction');
    const direct = await bouncer('session');
    await direct.stop();
    const one = await joined(pooler.url, direct.url.replace('test@', 'test:secret@'));
    await eventuallyElsewhere(() => log.length > 0);
    expect(log).toEqual([
      'warn The connection for signals cannot be opened. It is tried again. Check DATABASE_DIRECT_URL (postgres.directUrl of ' +
        'openStore) and its server. Until then, followers on other processes are late. ' +
        `The error was: connect ECONNREFUSED ${new URL(direct.url).host}`,
    ]);
    await direct.start();
    await eventuallyElsewhere(() => one.signals.trouble === undefined);
    const two = await joined(database.url);
    two.signals.send(newsOf('r'));
    await eventually(() => one.received.length > 0);
    await direct.stop();
    await eventuallyElsewhere(() => one.signals.trouble !== undefined);
    expect(log.slice(1)).toEqual(['log Signals arrive again.', log[0]]);
  });
});
