/**
 * The service that the programs of this directory disturb. `node server.mjs <database URL> [<store options as JSON>]` prints
 * the URL of the service when it listens. `WEBHOOK_URL` gets all webhooks.
 */
import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { message, QueryModule } from '../../dist/index.js';
import { openStore } from '../../dist/stores/index.js';
import { HealthController } from '../../dist/telemetry/index.js';

const [, , database, options = '{}'] = process.argv;

class Service {}

/**
 * Asks `kwargs.asks` questions, none by default, says what the files are, and then counts to `kwargs.events`, 25 by default. Then it
 * fails, if `kwargs.fails` is true.
 */
async function* handler(query, context) {
  const { session, history, resumed } = context;
  const text = query.parts[0].text;
  const { events = 25, asks = 0 } = query.kwargs;
  for (let asked = resumed?.state?.asked ?? 1; asked <= asks; asked++) {
    const question = { key: `q${asked}`, kind: 'approval', message: 'May I?' };
    const [answer] = await context.ask([question], { checkpoint: { asked } });
    yield message(`${question.key} ${answer.outcome}`);
  }
  for (const part of query.parts) {
    if (part.type === 'file')
      yield message(`file ${part.sha256} ${(await part.file.arrayBuffer()).byteLength}`);
  }
  for (let i = 1; i <= events; i++) {
    yield message(`${text} ${session ? history.length : '-'} ${i}`);
    await delay(Math.random() * 20);
  }
  if (query.kwargs.fails) throw new Error('The query says so.');
}

// How often a run may be executed again.
handler.restarts = Number(process.env.RESTARTS ?? 0);
const store = await openStore(database, { leaseMs: 500, ...JSON.parse(options) });
const runs = { disconnect: 'continue' };
const { WEBHOOK_URL: url } = process.env;
const endpoint = {
  name: 'chaos',
  secret: `whsec_${Buffer.alloc(32).toString('base64')}`,
  events: ['run.completed', 'run.failed', 'run.cancelled', 'run.input_required'],
};
const webhooks = { endpoints: url ? [{ ...endpoint, url }] : [], allowPrivate: true };
const module = {
  module: Service,
  controllers: [HealthController],
  imports: [QueryModule.forRoot({ handler, store, runs, webhooks })],
};
const app = await NestFactory.create(module, new FastifyAdapter(), {
  logger: ['error', 'warn'],
  abortOnError: false,
});
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
console.log(await app.getUrl());
