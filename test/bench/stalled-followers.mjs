/**
 * What followers cost that stop reading: one run of 100,000 envelopes, 1,000 of them.
 *
 *     npm run build && node test/bench/stalled-followers.mjs [followers] [envelopes] [express|fastify]
 *
 * The service runs in a process of its own. What it grows by is set against the log (the JSON of all envelopes, once).
 * Then half of the followers read on, and must get the whole.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const [followers = 1_000, envelopes = 100_000] = process.argv.slice(2, 4).map(Number);
const adapter = process.argv[4] ?? 'fastify';

if (process.send) await serve();
else await measure();

/** The service: its parent tells it to emit and asks for its memory. */
async function serve() {
  await import('reflect-metadata');
  const { NestFactory } = await import('@nestjs/core');
  const { AgentService, message, QueryModule } = await import('../../dist/index.js');
  let emit;
  const asked = new Promise((resolve) => (emit = resolve));
  const { Observable } = await import('rxjs');
  const content = 'some twenty letters.';
  // An Observable, because an async iterable would wait for its followers.
  const handler = () =>
    new Observable((subscriber) => {
      void asked.then(() => {
        let left = envelopes;
        const batch = () => {
          for (let i = 0; i < 1_000 && left > 0; i++, left--) subscriber.next(message(content));
          if (left > 0) setImmediate(batch);
          else subscriber.complete();
        };
        batch();
      });
    });
  const { [adapter === 'express' ? 'ExpressAdapter' : 'FastifyAdapter']: Adapter } = await import(
    `@nestjs/platform-${adapter}`
  );
  const app = await NestFactory.create(QueryModule.forRoot({ handler }), new Adapter(), { logger: false });
  await app.listen(0, '127.0.0.1');
  const agent = app.get(AgentService, { strict: false });
  const requests = {
    load: () => agent.load(),
    emit: () => emit(),
    memory: () => {
      globalThis.gc?.();
      return process.memoryUsage();
    },
  };
  process.on('message', (name) => process.send({ name, answer: requests[name]() }));
  process.on('disconnect', () => process.exit());
  process.send({ name: 'url', answer: await app.getUrl() });
}

async function measure() {
  const service = fork(fileURLToPath(import.meta.url), process.argv.slice(2), { execArgv: ['--expose-gc'] });
  const answerTo = async (name) => {
    if (name !== 'url') service.send(name);
    for (;;) {
      const [said] = await once(service, 'message');
      if (said.name === name) return said.answer;
    }
  };
  const url = new URL(await answerTo('url'));
  const body = '{"parts":[{"type":"text","text":"Hello"}]}';
  const asked = await fetch(new URL('/query', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', prefer: 'respond-async' },
    body,
  });
  const { id } = await asked.json();
  const idle = await answerTo('memory');

  const sockets = [];
  for (let i = 0; i < followers; i++) sockets.push(await follow(url, id));
  while ((await answerTo('load')).followers < followers) await pause(10);
  const open = await answerTo('memory');

  const began = performance.now();
  await answerTo('emit');
  const ended = async () => (await answerTo('load')).running === 0;
  while (!(await ended())) await pause(10);
  const seconds = (performance.now() - began) / 1000;
  await pause(200);
  const stalled = await answerTo('memory');

  const readers = sockets.slice(0, followers / 2);
  const read = await Promise.all(readers.map((socket) => readToEnd(socket)));
  const whole = read.filter((events) => events === envelopes + 1).length;

  const log =
    envelopes * JSON.stringify({ type: 'message', data: { content: 'some twenty letters.' } }).length;
  const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  const rows = {
    'the log itself': mebibytes(log),
    'growth with all followers connected': mebibytes(open.rss - idle.rss),
    'growth from there, all envelopes emitted and nobody reading': mebibytes(stalled.rss - open.rss),
    '  of which the JavaScript heap': mebibytes(stalled.heapUsed - open.heapUsed),
    '  of which beside the log, a follower': `${((stalled.rss - open.rss - log) / followers / 1024).toFixed(1)} KiB`,
    'the run took': `${seconds.toFixed(2)} s`,
    'followers that read on and got the whole': `${whole} of ${readers.length}`,
  };
  console.log(
    `${followers} followers that stop reading, ${envelopes} envelopes, ${adapter}, Node ${process.version}`,
  );
  for (const [what, figure] of Object.entries(rows)) console.log(`${what.padEnd(62)} ${figure}`);
  for (const socket of sockets) socket.destroy();
  service.disconnect();
  await once(service, 'exit');
  process.exitCode = whole === readers.length ? 0 : 1;
}

/** Follows a run on a connection of its own, of which nothing is read. */
async function follow({ hostname, port }, id) {
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.pause();
  await once(socket, 'connect');
  socket.write(
    `GET /query/${id} HTTP/1.1\r\nHost: ${hostname}\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n`,
  );
  return socket;
}

/** How many events a connection carries from now to its end. */
async function readToEnd(socket) {
  let events = 0;
  let rest = '';
  for await (const chunk of socket) {
    const text = rest + chunk.toString('latin1');
    // A frame's beginning may lie across two chunks.
    for (let at = text.indexOf('\ndata: '); at >= 0; at = text.indexOf('\ndata: ', at + 1)) events++;
    rest = text.slice(-6);
  }
  return events;
}
