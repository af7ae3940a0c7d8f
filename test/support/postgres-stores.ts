import process from 'node:process';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import type { Admission, StoreHost, RetentionOptions, RunEnd, RunRecord } from '../../src/query/index.js';
import { message } from '../../src/query/index.js';
import { PostgresDriver } from '../../src/stores/drivers/postgres-driver.js';
import { SqlRunStore } from '../../src/stores/sql-run-store.js';
import { admissionOf, eventsOf, readAll } from '../../packages/store-contract/src/opened-store.js';
import { KEPT_TABLES } from './one-database.js';
import { openDatabase, type TestDatabase } from './postgres.js';

/** One process of a service, as far as the database is concerned. */
export interface Member {
  store: SqlRunStore;
  driver: PostgresDriver;
  /** What the store has told: the ids of runs. */
  told: { lost: string[]; recovered: string[]; ready: number; asked: Set<string> };
  /** Ends the process as a crash would: its lease stays. */
  crash(): Promise<void>;
}

export interface MemberOptions {
  leaseMs?: number;
  restarts?: number;
  retention?: Partial<RetentionOptions>;
  /** The server, or a proxy before it. */
  url?: string;
  /** What the clock of the database is ahead of its real time, in milliseconds. */
  clockAheadMs?: number;
}

/** A database of Postgres, and in it a schema that several stores use. */
export class PostgresStores {
  #server: TestDatabase | undefined;
  #schemas = 0;
  #members: Member[] = [];
  #isBehindProxy = false;

  /** Creates a database. */
  async start(): Promise<void> {
    this.#server = await openDatabase();
  }

  get url(): string {
    return this.#server!.url;
  }

  get schema(): string {
    return `processes_${process.pid}_${this.#schemas}`;
  }

  /** Opens a store for this test. */
  async open(options: MemberOptions = {}): Promise<Member> {
    const { leaseMs, restarts = 0, retention, url = this.url, clockAheadMs = 0 } = options;
    this.#isBehindProxy ||= url !== this.url;
    const driver = await PostgresDriver.open(new URL(url), {
      schema: this.schema,
      poolSize: 4,
      // Tests wait for the end of connections that a proxy swallows.
      connectTimeoutMs: 2_000,
      // Longer than a test: what does not answer is to be found before.
      statementTimeoutMs: 120_000,
    });
    const now = driver.now.bind(driver);
    driver.now = async () => (await now()) + clockAheadMs;
    const store = new SqlRunStore(driver, { leaseMs, retention });
    const told: Member['told'] = { lost: [], recovered: [], ready: 0, asked: new Set() };
    const events: Partial<StoreHost> = {
      restarts: () => restarts,
      wished: (runId, what) => told.asked.add(`${what} ${runId}`),
      lost: (runId) => told.lost.push(runId),
      recovered: (runId) => told.recovered.push(runId),
      ready: () => told.ready++,
    };
    await store.open(eventsOf(events));
    const crash = async () => {
      await driver.db.destroy();
      await store.close().catch(() => undefined);
      this.#members = this.#members.filter((other) => other !== member);
    };
    const member = { store, driver, told, crash };
    this.#members.push(member);
    return member;
  }

  /** Executes statements as an administrator of the server. */
  async administer<Row extends object>(statement: string, values: unknown[] = []): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    const { rows } = await client.query<Row>(statement, values);
    await client.end();
    return rows;
  }

  /**
   * Closes the stores of this test, and deletes what they have left: that takes a twentieth of the time of a new schema. What a
   * proxy has held back may still reach the server. So nobody gets the schema of a test with one.
   */
  async reset(): Promise<void> {
    for (const { store } of this.#members) await store.close();
    this.#members = [];
    const tables = await this.administer<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = '${this.schema}'`,
    );
    const emptied = tables.filter(({ name }) => !KEPT_TABLES.test(name));
    await this.administer(emptied.map(({ name }) => `delete from ${this.schema}.${name}`).join(';'));
    if (this.#isBehindProxy) this.#schemas++;
    this.#isBehindProxy = false;
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }
}

/** Stores on Postgres for the tests of a suite: a database for all of them, which is empty before each. */
export function postgresStores(): PostgresStores {
  const stores = new PostgresStores();
  beforeAll(() => {
    // What the operator reads about lost leases is not checked there.
    Logger.overrideLogger(false);
    return stores.start();
  }, 30_000);
  afterEach(() => stores.reset());
  afterAll(() => stores.close());
  return stores;
}

export const COMPLETED: RunEnd = { status: 'completed' };
export const CANCELLED: RunEnd = { status: 'cancelled' };
/** The end of the log of a run that has completed. */
export const DONE = '{"type":"done","data":{"status":"completed"}}';
export const textOf = (content: string) => JSON.stringify(message(content));
export const restartedOf = (attempt: number, from: number) =>
  JSON.stringify({ type: 'restarted', data: { attempt, from } });

export const sessionOf = (id: string, policy: 'enqueue' | 'reject' = 'enqueue') => ({
  id,
  policy,
  maxWaiting: 99,
});
export const admit = async ({ store }: Member, admission: Partial<Admission> = {}) =>
  (await store.admit(admissionOf(admission))).run;
export const admitTo = (member: Member, id: string, admission: Partial<Admission> = {}) =>
  admit(member, { session: sessionOf(id), ...admission });
export const take = async ({ store }: Member, count = 99) => store.take(count);
export const find = ({ store }: Member, { owner, id }: RunRecord) => store.find(owner, id);
export const logOf = ({ store }: Member, run: RunRecord) => readAll(store, run);
