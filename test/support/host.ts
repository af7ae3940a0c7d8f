import { Module, type DynamicModule, type INestApplication, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AgentService, QueryModule, type QueryModuleOptions } from '../../src/index.js';
import { eventually } from './conditions.js';

/** The adapters that every promise about HTTP is held on. */
export const ADAPTERS = ['express', 'fastify'] as const;
export type AdapterName = (typeof ADAPTERS)[number];

/** An application that listens on a free port of the loopback interface. */
export interface Host {
  app: INestApplication;
  url: string;
  agent: AgentService;
  /** Resolves when nothing runs, waits, follows or is overdue any more. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

const open = new Set<INestApplication>();

// A test that fails leaves its host open, and jest would wait for it.
afterAll(async () => {
  for (const app of open) await app.close();
});

/** What the host's `main.ts` does before it listens. */
export type Configure = (app: INestApplication) => unknown;

export function adapterNamed(name: AdapterName): ExpressAdapter | FastifyAdapter {
  return name === 'express' ? new ExpressAdapter() : new FastifyAdapter();
}

/** Starts a host that imports a module. */
export async function startHost(
  adapter: AdapterName,
  module: DynamicModule | Type,
  configure: Configure = () => undefined,
): Promise<Host> {
  @Module({ imports: [module] })
  class HostModule {}
  const app = await NestFactory.create(HostModule, adapterNamed(adapter), {
    logger: false,
    abortOnError: false,
    forceCloseConnections: true,
  });
  await configure(app);
  return listen(app);
}

/** Starts a host whose queries are answered by a handler; runs that go on when it is closed are not waited for. */
export function startAgent(
  adapter: AdapterName,
  handler: QueryModuleOptions['handler'],
  options: Partial<QueryModuleOptions> = {},
  configure?: Configure,
): Promise<Host> {
  const runs = { drainMs: 0, stopDeadlineMs: 100, ...options.runs };
  return startHost(adapter, QueryModule.forRoot({ ...options, runs, handler }), configure);
}

export async function listen(app: INestApplication): Promise<Host> {
  await app.listen(0, '127.0.0.1');
  open.add(app);
  const close = () => {
    open.delete(app);
    return app.close();
  };
  const agent = app.get(AgentService, { strict: false });
  const idle = () => eventually(() => Object.values(agent.load()).every((count) => count === 0));
  return { app, url: await app.getUrl(), agent, idle, close };
}
