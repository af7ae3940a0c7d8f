/**
 * What keep-alives cost: streams whose agents say nothing, at several intervals, each in a service of its own.
 *
 *     npm run build && node test/bench/silent-streams.mjs [streams] [seconds] [intervals in ms, with commas]
 *
 * Prints the share of a core that the service takes, the bytes of bodies that it sends, with those of their chunks, and the longest
 * time without a byte on any stream.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const [streams = 5_000, seconds = 60] = process.argv.slice(2, 4).map(Number);
const intervals = (process.argv[4] ?? '600000,10000,4000').split(',').map(Number);
const BODY = '{"parts":[{"type":"text","text":"Hello"}]}';
/** What the beginning of the streams has cost is not counted. */
const SETTLING_MS = 3_000;

if (process.send) await serve(Number(process.argv[2]));
else for (const interval of intervals) console.log(await measure(interval));

/** The service: its parent asks for the time that it has computed. */
async function serve(keepAliveMs) {
  await import('reflect-metadata');
  const { NestFactory } = await import('@nestjs/core');
  const { ExpressAdapter } = await import('@nestjs/platform-express');
  const { QueryModule } = await import('../../dist/index.js');
  const { NEVER } = await import('rxjs');
  const module = QueryModule.forRoot({ handler: () => NEVER, streams: { keepAliveMs } });
  const app = await NestFactory.create(module, new ExpressAdapter(), { logger: false });
  await app.listen(0, '127.0.0.1');
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send((user + system) / 1e6);
  });
  process.on('disconnect', () => process.exit());
  process.send(app.getHttpServer().address().port);
}

async function measure(interval) {
  const service = fork(fileURLToPath(import.meta.url), [String(interval)]);
  const [port] = await once(service, 'message');
  const computed = async () => {
    service.send('computed');
    return (await once(service, 'message'))[0];
  };
  const seen = { bytes: 0, gap: 0 };
  const sockets = [];
  for (let count = 0; count < streams; count++) sockets.push(await open(port, seen));
  await pause(SETTLING_MS);
  Object.assign(seen, { bytes: 0, gap: 0 });
  const before = await computed();
  await pause(seconds * 1_000);
  const share = (((await computed()) - before) / seconds) * 100;
  for (const socket of sockets) socket.destroy();
  service.disconnect();
  await once(service, 'exit');
  const gap = seen.gap ? `${(seen.gap / 1_000).toFixed(1)} s` : 'all of it';
  return `every ${interval} ms: ${share.toFixed(1)} % of a core, ${seen.bytes} bytes in ${seconds} s, longest silence ${gap}`;
}

/** Begins a stream. */
async function open(port, seen) {
  const socket = connect(port, '127.0.0.1');
  const head = ['POST /query HTTP/1.1', 'Host: 127.0.0.1', 'Accept: text/event-stream'];
  const lines = [...head, 'Content-Type: application/json', `Content-Length: ${BODY.length}`];
  socket.write(`${lines.join('\r\n')}\r\n\r\n${BODY}`);
  await once(socket, 'data');
  let last = performance.now();
  socket.on('data', ({ length }) => {
    const now = performance.now();
    seen.gap = Math.max(seen.gap, now - last);
    seen.bytes += length;
    last = now;
  });
  return socket;
}
