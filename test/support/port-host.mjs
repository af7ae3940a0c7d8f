/**
 * A host as `nest start` executes it: `node port-host.mjs <adapter> <port>` prints its URL when it listens. Its runs end with the
 * first line of its standard input; when it is told to stop, it waits for that longer than the next process takes to start.
 */
import { once } from 'node:events';
import process from 'node:process';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { message, QueryModule } from '../../dist/index.js';

const [, , adapter, port] = process.argv;
const line = once(process.stdin, 'data');

async function* handler() {
  yield message('begun');
  await line;
  yield message(' and ended');
}

class HostModule {}
const app = await NestFactory.create(
  { module: HostModule, imports: [QueryModule.forRoot({ handler, runs: { drainMs: 60_000 } })] },
  adapter === 'fastify' ? new FastifyAdapter() : new ExpressAdapter(),
  { logger: ['error'] },
);
app.enableShutdownHooks();
await app.listen(Number(port), 'localhost');
console.log(await app.getUrl());
