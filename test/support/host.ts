import {
  Module,
  type NestModule,
  type DynamicModule,
  type INestApplication,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';

/** The adapters that every promise about HTTP is held on. */
export const ADAPTERS = ['express', 'fastify'] as const;
export type AdapterName = (typeof ADAPTERS)[number];

/** An application that listens on a free port of the loopback interface. */
export interface Host {
  app: INestApplication;
  url: string;
  close(): Promise<void>;
}

/**
 * Starts a host that imports a module.
 *
 * @param configure what the host's `main.ts` would do before it listens
 */
export async function startHost(
  adapter: AdapterName,
  module: DynamicModule | Type<NestModule> | Type,
  configure: (app: INestApplication) => unknown = () => undefined,
): Promise<Host> {
  @Module({ imports: [module] })
  class HostModule {}
  const app = await NestFactory.create(
    HostModule,
    adapter === 'express' ? new ExpressAdapter() : new FastifyAdapter(),
    { logger: false, abortOnError: false, forceCloseConnections: true },
  );
  await configure(app);
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl(), close: () => app.close() };
}
