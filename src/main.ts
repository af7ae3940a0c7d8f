import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { ConfigurationError, readEnvironment, type Environment } from './config.js';
import { ServiceLogger } from './logger.js';

/** The standalone service: reads the environment, listens, and shuts down in order on a signal. */
async function main(): Promise<void> {
  const environment = readEnvironment();
  const app = await NestFactory.create<NestFastifyApplication>(
    await AppModule.of(environment),
    // A session id in a path may be as long as a header.
    new FastifyAdapter({ routerOptions: { maxParamLength: 16 * 1024 } }),
    { logger: new ServiceLogger(), abortOnError: false },
  );
  app.enableShutdownHooks();
  await app.listen(environment.PORT, environment.HOST);
  greet(environment, app.getHttpServer().address() as AddressInfo);
}

function greet({ AGENT }: Environment, { address, port, family }: AddressInfo): void {
  const isIPv6 = family === 'IPv6';
  const host = isIPv6 ? `[${address}]` : address;
  // A client cannot call the address that stands for all addresses.
  const called = host.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^\[::\]$/, '[::1]');
  process.stdout.write(
    `nest-agent-query listens on http://${host}:${port} and answers with the agent "${AGENT}". Try it:\n\n` +
      `curl -N -H 'Content-Type: application/json' ` +
      `-d '{"parts":[{"type":"text","text":"Hello"}],"kwargs":{}}' http://${called}:${port}/query\n\n`,
  );
}

// A handler's unhandled rejection must not crash other runs.
process.on('unhandledRejection', (reason) => {
  new Logger('Process').error(
    'A promise was rejected, and no code handled the rejection.',
    reason instanceof Error ? reason.stack : reason,
  );
});

main().catch((error: NodeJS.ErrnoException) => {
  const isExplained = error instanceof ConfigurationError || error.syscall === 'listen';
  process.stderr.write(`nest-agent-query cannot start.\n${isExplained ? explain(error) : error.stack}\n`);
  process.exit(1);
});

function explain(error: NodeJS.ErrnoException): string {
  if (error.code === 'EADDRINUSE') return `${error.message}. Set PORT to another port (0 takes a free one).`;
  if (error.code === 'EACCES') return `${error.message}. Set PORT to a port from 1024 on.`;
  return error.message;
}
