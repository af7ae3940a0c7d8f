/**
 * A server process: `node server.mjs <peer> [database url]`. Tells its port, and then what it has used whenever it is asked:
 * `collect` asks for a garbage collection before that, `watch` for the delays of the event loop from then on.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { PEERS } from './peers/index.mjs';

const [peer, url] = process.argv.slice(2);
const DESCRIPTORS = '/proc/self/fd';
const { module, start } = PEERS[peer];
const port = await (await import(`./peers/${module}.mjs`))[start](url);
const delay = monitorEventLoopDelay({ resolution: 1 });

/** Megabytes of a database in a file, and of its write-ahead log. */
function databaseSize() {
  if (!url?.startsWith('file:')) return undefined;
  const path = url.slice('file:'.length);
  return (statSync(path).size + statSync(`${path}-wal`).size) / 1e6;
}

process.on('message', ({ collect, watch }) => {
  const longestDelay = delay.max / 1e6;
  // What is held is meant, not what is about to be given back.
  if (collect) for (let i = 0; i < 3; i++) globalThis.gc();
  const { user, system } = process.cpuUsage();
  // Not from the start, because looking costs time.
  if (watch) delay.enable();
  delay.reset();
  process.send({
    cpu: (user + system) / 1e6,
    rss: process.memoryUsage.rss() / 1e6,
    peak: process.resourceUsage().maxRSS / 1e3,
    longestDelay,
    descriptors: existsSync(DESCRIPTORS) ? readdirSync(DESCRIPTORS).length : undefined,
    database: databaseSize(),
  });
});
process.on('disconnect', () => process.exit());
process.send({ port });
