/**
 * The process of a host whose handlers, store and clock are told what to do by the process of the schedules. Each message has
 * the name of a method of `Commands` and its arguments.
 */
import 'reflect-metadata';
import { readdir } from 'node:fs/promises';
import process from 'node:process';
import { type INestApplication, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  AgentService,
  type Envelope,
  type HandlerFunction,
  MemoryRunStore,
  QueryModule,
  type RunStore,
} from '../../../src/index.js';
import { LibsqlDriver } from '../../../src/stores/drivers/libsql-driver.js';
import { PostgresDriver } from '../../../src/stores/drivers/postgres-driver.js';
import { SqlRunStore } from '../../../src/stores/sql-run-store.js';
import { eventsOf } from '../../../packages/store-contract/src/opened-store.js';
import { LeakCheck } from '../../support/leak-check.mjs';
import { Call } from '../../support/scripted-agent.js';
import { SlowRunStore } from '../../support/slow-run-store.js';
import { FaultyDriver } from './faulty-driver.js';
import type { HostOptions, Message, StoreAddress } from './host.js';
import { GRACE_MS, LEASE_MS, MEMORY_BYTES, RUN_MS, SESSION_MS, STOP_DEADLINE_MS } from './settings.js';

const LEAK_DEADLINE_MS = 10_000;
const POOL_SIZE = 4;

let app: INestApplication | undefined;
let store: RunStore | undefined;
let driver: FaultyDriver | undefined;
const calls = new Map<string, Call>();
const leaks = new LeakCheck();

// Time passes faster for the retention than for timers.
const realNow = Date.now.bind(Date);
let clockOffset = 0;
Date.now = () => realNow() + clockOffset;

const handler: HandlerFunction = async (query, context) => {
  const file = query.parts.find((part) => part.type === 'file');
  const call = new Call(query, context);
  calls.set(context.runId, call);
  tell({
    called: context.runId,
    call: {
      text: call.text,
      file: await file?.file.text(),
      turns: context.session && context.history.map(({ runId }) => runId),
    },
  });
  return call.answer({ ignoresSignal: query.kwargs['deaf'] === true });
};

const retention = { runMs: RUN_MS, sessionMs: SESSION_MS };

async function openDriver({ name, url, schema }: StoreAddress): Promise<FaultyDriver> {
  // A file has the clock of this process.
  if (name === 'sqlite') return new FaultyDriver(await LibsqlDriver.open(url!), () => 0);
  const postgres = await PostgresDriver.open(new URL(url!), { schema: schema!, poolSize: POOL_SIZE });
  return new FaultyDriver(postgres, () => clockOffset);
}

async function openStore({ store: address, settings }: HostOptions): Promise<RunStore> {
  const limits = { ...retention, ...(settings.keepsShortLogs && { logLength: 0 }) };
  if (address.name === 'memory') return new MemoryRunStore(limits);
  if (address.name === 'slow') {
    return new SlowRunStore(waits(settings.storeSeed), false, new MemoryRunStore(limits));
  }
  driver = await openDriver(address);
  return new SqlRunStore(driver, { retention: limits, leaseMs: LEASE_MS });
}

/** Returns from 0 to 4 in an order that depends on the seed (a linear congruential generator). */
function waits(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return (state >> 16) % 5;
  };
}

const commands = {
  async open(options: HostOptions): Promise<string> {
    const { adapter, disconnect, ...runs } = options.settings;
    clockOffset = options.clockOffset;
    store = await openStore(options);
    const module = QueryModule.forRoot({
      handler,
      store,
      owner: ({ headers }) => headers['x-owner'] as string,
      limits: { memoryBytes: MEMORY_BYTES },
      spoolDirectory: options.spoolDirectory,
      runs: {
        maxRunning: runs.maxRunning,
        maxWaiting: runs.maxWaiting,
        maxWaitingPerSession: runs.maxWaitingPerSession,
        ...(runs.maxRunningPerOwner !== undefined && { maxRunningPerOwner: runs.maxRunningPerOwner }),
        ...(runs.maxWaitingPerOwner !== undefined && { maxWaitingPerOwner: runs.maxWaitingPerOwner }),
        sessionPolicy: runs.sessionPolicy,
        disconnect: disconnect === 'grace' ? { graceMs: GRACE_MS } : disconnect,
        stopDeadlineMs: STOP_DEADLINE_MS,
        drainMs: 0,
      },
    });
    const { ExpressAdapter } = await import('@nestjs/platform-express');
    const { FastifyAdapter } = await import('@nestjs/platform-fastify');
    const http = adapter === 'express' ? new ExpressAdapter() : new FastifyAdapter();
    app = await NestFactory.create(module, http, { logger: false, abortOnError: false });
    await app.listen(0, '127.0.0.1');
    return app.getUrl();
  },

  async close(): Promise<void> {
    await app!.close();
    app = undefined;
    for (const call of calls.values()) call.finish();
    calls.clear();
  },

  emit(runId: string, envelopes: Envelope[]): void {
    calls.get(runId)!.emit(...envelopes);
  },

  finish(runId: string): void {
    calls.get(runId)!.finish();
  },

  fail(runId: string): void {
    calls.get(runId)!.fail(new Error('The schedule says so.'));
  },

  load: () => app!.get(AgentService).load(),

  async queue(owner: string, sessionId: string): Promise<string[]> {
    return (await store!.queue(owner, sessionId)).map(({ id }) => id);
  },

  async isAvailable(): Promise<boolean> {
    try {
      // As many at once as there are connections, so that none is left that was cut.
      await Promise.all(Array.from({ length: 2 * POOL_SIZE }, async () => store!.check()));
      return true;
    } catch {
      return false;
    }
  },

  setDown(isDown: boolean): void {
    driver!.isDown = isDown;
  },

  loseAnswers(count: number): void {
    driver!.lostAnswers = count;
  },

  async advanceClock(milliseconds: number): Promise<void> {
    clockOffset += milliseconds;
    if (store instanceof SqlRunStore) await store.sweep();
  },

  spooled: async (directory: string): Promise<string[]> =>
    (await readdir(directory, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ name }) => name),

  watchLeaks: () => leaks.start(),

  async leaks(): Promise<string[]> {
    const found = await leaks.leaksAfter(LEAK_DEADLINE_MS);
    leaks.stop();
    return found;
  },

  /** Counts the rows of a database that no host has open: of unfinished runs, and of all tables after a sweep of everything. */
  async leftRows(address: StoreAddress): Promise<Record<string, number>> {
    const closed = await openDriver(address);
    const count = async (table: 'runs' | 'log' | 'sessions' | 'turns' | 'file_uses' | 'contents') => {
      const { rows } = await closed.db
        .selectFrom(table)
        .select((of) => of.fn.countAll<number>().as('rows'))
        .executeTakeFirstOrThrow();
      return Number(rows);
    };
    const unfinished = await closed.db
      .selectFrom('runs')
      .select('id')
      .where('ended_at', 'is', null)
      .execute();
    const sweeping = new SqlRunStore(closed, { retention: { runMs: 1, sessionMs: 1, fileMs: 1 } });
    // A process without a lease does not sweep.
    await sweeping.open(eventsOf());
    clockOffset += 2 * SESSION_MS;
    await sweeping.sweep();
    const left: Record<string, number> = { unfinished: unfinished.length };
    for (const table of ['runs', 'log', 'sessions', 'turns', 'file_uses', 'contents'] as const) {
      left[table] = await count(table);
    }
    await sweeping.close();
    return left;
  },
};

export type Commands = typeof commands;

function tell(message: Message): void {
  process.send!(message);
}

Logger.overrideLogger(false);
// The process of the schedules has ended.
process.once('disconnect', () => process.exit());
process.on('message', ({ id, name, args }: { id: number; name: keyof Commands; args: never[] }) => {
  const execute = async () => (commands as Record<string, (...of: never[]) => unknown>)[name]!(...args);
  execute().then(
    (value) => tell({ id, value }),
    (error: Error) => tell({ id, error: error.stack ?? error.message }),
  );
});
tell({ ready: true });
