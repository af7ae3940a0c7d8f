import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { type AgentService, QueryModule } from 'nest-agent-query';
import {
  Dispatcher,
  type DispatchReceiver,
  type QueryModuleExtras,
  type QueryModuleOptions,
} from 'nest-agent-query';
import { openStore } from 'nest-agent-query/stores';
import { deferred, eventually } from '../../../test/support/conditions.js';
import { type Host, startHost } from '../../../test/support/host.js';
import { OperatorLog } from '../../../test/support/operator-log.js';
import { freePort } from '../../../test/support/free-port.mjs';
import { describeWithPgBouncer, startPgBouncer } from '../../../test/support/pgbouncer.js';
import { openDatabase, startPostgres, type TestDatabase } from '../../../test/support/postgres.js';
import { NO_REDIS, startRedis } from '../../../test/support/redis.js';
import { ScriptedAgent } from '../../../test/support/scripted-agent.js';
import { openDispatcher } from './index.js';

/** A process that takes no run by itself while a test is under way. */
const LEASE_MS = 600_000;

/** A receiver as the scheduler of a process is one. */
class Receiver implements DispatchReceiver {
  taken = 0;
  slot = deferred();

  /** @param leaves how often runs are left for other processes */
  constructor(private leaves = 0) {}

  freeSlot(): Promise<void> {
    return this.slot.promise;
  }

  take(): Promise<boolean> {
    this.taken++;
    return Promise.resolve(this.leaves-- > 0);
  }

  /** Has free slots from now on. */
  open(): this {
    this.slot.resolve();
    return this;
  }
}

interface QueueServer {
  url: string;
  kill(): Promise<unknown>;
  /** Starts it again on the same port. */
  start(): Promise<unknown>;
  close(): Promise<unknown>;
}

async function startRedisServer(): Promise<QueueServer> {
  let server = await startRedis();
  const { port, url } = server;
  const start = async () => (server = await startRedis(port));
  return { url, start, kill: () => server.kill(), close: () => server.kill() };
}

let database: TestDatabase;

beforeAll(async () => {
  database = await openDatabase();
}, 120_000);

afterAll(() => database.close());

let schemas = 0;
/** A new schema for the store of each test. */
const newSchema = () => `queue_${++schemas}`;

async function startProcess(
  schema: string,
  dispatcher: Dispatcher,
  handler: QueryModuleOptions['handler'],
  {
    maxRunning = 1,
    leaseMs = LEASE_MS,
    role = 'all',
  }: { maxRunning?: number; leaseMs?: number } & QueryModuleExtras = {},
): Promise<Host> {
  const store = await openStore(database.url, { leaseMs, postgres: { schema } });
  const runs = { maxRunning, drainMs: 0, stopDeadlineMs: 100 };
  return startHost('express', QueryModule.forRoot({ handler, store, dispatcher, runs, role }));
}

const ask = (agent: AgentService, text: string) =>
  agent.query({ parts: [{ type: 'text', text }], kwargs: {} }, { detached: true });

/** Admits a query; resolves when it is admitted. */
const admit = async (agent: AgentService, text: string) => (await ask(agent, text).admitted).run!.id;

const SERVERS = [
  ['Postgres', '', () => startPostgres() as Promise<QueueServer>],
  ['Redis', NO_REDIS, startRedisServer],
] as const;

describe.each(SERVERS)('The dispatcher on %s', (_kind, reason, startServer) => {
  const test = reason === '' ? it : it.skip;
  const note = reason && ` (skipped: ${reason})`;
  let server: QueueServer;
  let queues = 0;
  /** The dispatchers of the processes of one test. */
  const openAll = async (count: number) => {
    const url = `${server.url}?queue=test-${++queues}`;
    return Promise.all(Array.from({ length: count }, () => openDispatcher(url)));
  };

  beforeAll(async () => {
    if (reason === '') server = await startServer();
  }, 120_000);
  afterAll(() => server?.close());

  test(`brings a run that waits in one process to the free slot of another${note}`, async () => {
    const schema = newSchema();
    const [one, two] = await openAll(2);
    const [first, second] = [new ScriptedAgent(), new ScriptedAgent()];
    const a = await startProcess(schema, one!, first.handler);
    const b = await startProcess(schema, two!, second.handler);
    await admit(a.agent, 'first');
    await first.call(1);
    await admit(a.agent, 'second');
    const call = await second.call(1);
    expect(call.text).toBe('second');
    call.finish();
    (await first.call(1)).finish();
    await Promise.all([a.idle(), b.idle()]);
    await Promise.all([a.close(), b.close()]);
  });

  test(`brings runs to workers${note}`, async () => {
    const schema = newSchema();
    const [one, two] = await openAll(2);
    const agent = new ScriptedAgent();
    const api = await startProcess(schema, one!, agent.handler, { role: 'api' });
    const worker = await startProcess(schema, two!, agent.handler, { role: 'worker', maxRunning: 10 });
    for (let count = 1; count <= 20; count++) {
      await admit(api.agent, `${count}`);
      const call = await agent.call(count);
      expect(call.text).toBe(`${count}`);
      call.finish();
    }
    await worker.idle();
    await Promise.all([api.close(), worker.close()]);
  });

  test(`leaves the jobs to the others where no slot is free, and passes on what one cannot take${note}`, async () => {
    const [one, two, three] = await openAll(3);
    const full = new Receiver();
    const [small, large] = [new Receiver(1).open(), new Receiver()];
    await one!.receive(full);
    await two!.receive(small);
    await three!.receive(large);
    one!.offer();
    await eventually(() => small.taken === 2);
    expect([full.taken, large.taken]).toEqual([0, 0]);
    small.slot = deferred();
    large.open();
    one!.offer();
    await eventually(() => small.taken + large.taken === 3);
    expect(full.taken).toBe(0);
    await Promise.all([one!.close(), two!.close(), three!.close()]);
  });

  test(`loses no run while the queue is down, and uses it again afterwards${note}`, async () => {
    const schema = newSchema();
    const [one, two] = await openAll(2);
    const [first, second] = [new ScriptedAgent(), new ScriptedAgent()];
    const a = await startProcess(schema, one!, first.handler, { leaseMs: 2_000 });
    const b = await startProcess(schema, two!, second.handler, { leaseMs: 2_000 });
    const log = OperatorLog.of(a.app);
    await admit(a.agent, 'first');
    await first.call(1);
    await server.kill();
    await admit(a.agent, 'second');
    const call = await second.call(1);
    expect(call.text).toBe('second');
    await eventually(() => log.troubles.some((line) => line.includes('The queue cannot be used')));
    await server.start();
    await eventually(() => log.lines.some((line) => line.includes('The queue can be used again.')));
    call.finish();
    (await first.call(1)).finish();
    await Promise.all([a.idle(), b.idle()]);
    await Promise.all([a.close(), b.close()]);
    expect(log.troubles.filter((line) => !line.includes('Queue'))).toEqual([]);
  });
});

describeWithPgBouncer('The queue behind PgBouncer', () => {
  it.each([[[]], [['ignore_startup_parameters = options']]])(
    'says that it needs the server itself, with the settings %j',
    async (settings) => {
      const pooler = await startPgBouncer(database.url, 'session', settings);
      const warnings: string[] = [];
      jest.spyOn(Logger.prototype, 'warn').mockImplementation((text: string) => void warnings.push(text));
      const dispatcher = await openDispatcher(pooler.url);
      await eventually(() => warnings.length > 0);
      expect(warnings).toEqual([
        'The queue cannot be used: a pooler takes no search_path with a connection, and BullMQ needs it. ' +
          'Let QUEUE_URL name the Postgres server itself. Runs that wait start up to 2 s later until then.',
      ]);
      await dispatcher.close();
      jest.restoreAllMocks();
      await pooler.close();
    },
  );
});

describe('The dispatcher', () => {
  it('lets the service start, and close, where the queue cannot be reached', async () => {
    const dispatcher = await openDispatcher(`postgres://test@127.0.0.1:${await freePort()}/postgres`);
    const receiver = new Receiver().open();
    await dispatcher.receive(receiver);
    dispatcher.offer();
    await dispatcher.close();
    expect(receiver.taken).toBe(0);
  });

  it('has one row per process in the tables of Postgres, and none that stays', async () => {
    const url = `${database.url}?queue=growth`;
    const [one, two] = [await openDispatcher(url), await openDispatcher(url)];
    const client = new pg.Client(database.url);
    await client.connect();
    const count = async (table: string) =>
      (await client.query<{ rows: number }>(`select count(*)::int as rows from bullmq.${table}`)).rows[0]!
        .rows;

    one.offer();
    await eventually(() =>
      count('job').then(
        (jobs) => jobs === 1,
        () => false,
      ),
    );
    for (let offers = 0; offers < 300; offers++) {
      one.offer();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const third = await openDispatcher(url);
    third.offer();
    await eventually(async () => (await count('job')) === 2);
    await third.close();

    const receiver = new Receiver().open();
    await two.receive(receiver);
    await eventually(() => receiver.taken >= 2);
    for (let taken = receiver.taken + 1; taken < 120; taken++) {
      one.offer();
      await eventually(() => receiver.taken >= taken);
    }
    await Promise.all([one.close(), two.close()]);
    expect(await count('job')).toBe(0);
    // BullMQ keeps the newest 100, and removes the others after each 256.
    expect(await count('event')).toBeLessThanOrEqual(356);
    await client.end();
  });

  it.each([
    ['mysql://host', 'must be postgres'],
    ['nothing', 'must be postgres'],
    ['postgres://user:secret@host/db?queue=', 'name of a queue'],
    ['redis://user:secret@host?queue=a:b', 'name of a queue'],
  ])('refuses %s', async (url, reason) => {
    const error = await openDispatcher(url).then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error?.message).toContain(reason);
    expect(error?.message).not.toContain('secret');
  });
});
