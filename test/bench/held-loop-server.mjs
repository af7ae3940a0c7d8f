/** The service that `held-loop.mjs` measures: `node held-loop-server.mjs [database URL]`. */
import 'reflect-metadata';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { message, QueryModule } from '../../dist/index.js';
import { openStore } from '../../dist/stores/index.js';

const RESOLUTION_MS = 1;

async function* handler(query, { history }) {
  yield message(`${query.parts.length} parts, ${history.length} turns`);
}

const [database] = process.argv.slice(2);
const store = database === undefined ? undefined : await openStore(database);
const module = QueryModule.forRoot({ handler, ...(store && { store }) });
const app = await NestFactory.create(module, new FastifyAdapter(), { logger: ['error', 'warn'] });
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');

const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
process.on('message', (question) => {
  if (question === 'begin') {
    delays.reset();
    delays.enable();
    process.send({});
  } else {
    // The delay of the present turn is recorded in the next one.
    setTimeout(() => {
      delays.disable();
      process.send({ longest: delays.max / 1e6 - RESOLUTION_MS });
    }, 5 * RESOLUTION_MS);
  }
});
process.once('disconnect', () => process.exit());
process.send({ url: await app.getUrl() });
