import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import {
  Module,
  type DynamicModule,
  type INestApplication,
  type NestApplicationOptions,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { AgentService, QueryModule, type QueryModuleOptions } from '../../src/index.js';
import { Clock, type TestClock } from '../../src/testing/index.js';
import { eventually } from './conditions.js';

export const ADAPTERS = ['express', 'fastify'] as const;
export type AdapterName = (typeof ADAPTERS)[number];

/** A suite about bytes, sockets or routes, which differ by adapter. Its name has `%s` for that of the adapter. */
export const describeOnBothAdapters = describe.each(ADAPTERS);

/**
 * The adapter of a suite about anything else, such as sessions, lists and agents. The name of its file chooses it, so that
 * each run of all suites meets both adapters. `ADAPTER=other` takes the other one of each suite: `npm run everything`.
 */
export const ONE_ADAPTER = adapterOf(relative(process.cwd(), expect.getState().testPath!));

/** A suite about anything else. Its name has `%s` for that of the adapter. */
export const describeOnOneAdapter = describe.each([ONE_ADAPTER]);

function adapterOf(file: string): AdapterName {
  const [digit] = createHash('sha256').update(file).digest();
  return ADAPTERS[(digit! + Number(process.env['ADAPTER'] === 'other')) % 2]!;
}

/** An application that listens on a free port of the loopback interface. */
export interface Host {
  app: INestApplication;
  url: string;
  agent: AgentService;
  /** Resolves when there is no run, no follower and no handler that has not stopped. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

const open = new Set<INestApplication>();

// Hosts of tests that failed are closed here, because Jest would wait for them.
afterAll(async () => {
  const left = [...open];
  for (const app of left) await app.close();
  if (left.length > 0) throw new Error(`This suite leaves ${left.length} hosts open.`);
});

/** What the `main.ts` of a host does before it listens. */
export type Configure = (app: INestApplication) => unknown;

export function adapterNamed(name: AdapterName): ExpressAdapter | FastifyAdapter {
  return name === 'express' ? new ExpressAdapter() : new FastifyAdapter();
}

/** Starts a host that imports a module. */
export async function startHost(
  adapter: AdapterName,
  module: DynamicModule | Type,
  configure: Configure = () => undefined,
  options: NestApplicationOptions = { forceCloseConnections: true },
): Promise<Host> {
  @Module({ imports: [module] })
  class HostModule {}
  const app = await NestFactory.create(HostModule, adapterNamed(adapter), {
    logger: false,
    abortOnError: false,
    ...options,
  });
  await configure(app);
  return listen(app);
}

/** Starts a host with a handler. When it is closed, it does not wait for its runs. */
export function startAgent(
  adapter: AdapterName,
  handler: QueryModuleOptions['handler'],
  options: Partial<QueryModuleOptions> = {},
  configure?: Configure,
): Promise<Host> {
  const runs = { drainMs: 0, stopDeadlineMs: 100, ...options.runs };
  return startHost(adapter, QueryModule.forRoot({ ...options, runs, handler }), configure);
}

/** Starts a host as `startAgent` does, whose clock only the test moves. */
export async function startClockedAgent(
  adapter: AdapterName,
  clock: TestClock,
  handler: QueryModuleOptions['handler'],
  options: Partial<QueryModuleOptions> = {},
): Promise<Host> {
  const module = QueryModule.forRoot({ ...options, runs: { drainMs: 0, ...options.runs }, handler });
  const testing = Test.createTestingModule({ imports: [module] })
    .overrideProvider(Clock)
    .useValue(clock);
  const compiled = await testing.compile();
  const app = compiled.createNestApplication(adapterNamed(adapter), {
    logger: false,
    forceCloseConnections: true,
  });
  return listen(app);
}

export async function listen(app: INestApplication): Promise<Host> {
  await app.listen(0, '127.0.0.1');
  open.add(app);
  const agent = app.get(AgentService, { strict: false });
  const close = async () => {
    open.delete(app);
    await app.close();
    // Tests replace the service with stubs.
    if (!(agent instanceof AgentService)) return;
    const { running, waiting, followers } = agent.load();
    if (running + waiting + followers > 0)
      throw new Error(
        `A closed host has ${running} running, ${waiting} waiting runs, ${followers} followers.`,
      );
  };
  const idle = () => eventually(() => Object.values(agent.load()).every((count) => count === 0));
  return { app, url: await app.getUrl(), agent, idle, close };
}
