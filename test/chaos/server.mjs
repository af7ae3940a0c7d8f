/** The service that `kill.mjs` kills. `node server.mjs <database URL>` prints the URL of the service when it listens. */
import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { message, QueryModule } from '../../dist/index.js';
import { openStore } from '../../dist/stores/index.js';

const EVENTS = 25;

async function* handler(query, { session }) {
  const text = query.parts[0].text;
  for (const part of query.parts) {
    if (part.type === 'file')
      yield message(`file ${part.sha256} ${(await part.file.arrayBuffer()).byteLength}`);
  }
  for (let i = 1; i <= EVENTS; i++) {
    yield message(`${text} ${session?.turns.length ?? '-'} ${i}`);
    await delay(Math.random() * 20);
  }
}

const store = await openStore(process.argv[2], { leaseMs: 500 });
const module = QueryModule.forRoot({ handler, store, runs: { disconnect: 'continue' } });
const app = await NestFactory.create(module, new FastifyAdapter(), {
  logger: ['error', 'warn'],
  abortOnError: false,
});
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
console.log(await app.getUrl());
