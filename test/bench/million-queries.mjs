/**
 * Whether the memory stays flat over a million small queries to the service on a file, 32 at once, and what else grows.
 *
 *     npm run build && node test/bench/million-queries.mjs [--queries 1000000] [--step 100000]
 *
 * Prints a row for every step: resident megabytes after a garbage collection, file descriptors, megabytes of the database file
 * and its write-ahead log. Compare rows after the first: until then code is compiled and caches are filled. The file grows with
 * the runs that the retention keeps; test/bench/retention.mjs shows that it is bounded. Descriptors are counted on Linux only.
 */
import { parseArgs } from 'node:util';
import { startLoad, startServer } from './process.mjs';

const { values: options } = parseArgs({
  options: {
    queries: { type: 'string', default: '1000000' },
    step: { type: 'string', default: '100000' },
  },
});
const QUERIES = Number(options.queries);
const STEP = Number(options.step);
const BODY = '{"parts":[{"type":"text","text":"burst 1"}]}';

const server = await startServer('oursFile', 0);
const load = startLoad();
const rows = {};
const began = performance.now();
for (let queries = STEP; queries <= QUERIES; queries += STEP) {
  await load.run('ask', { port: server.port, body: BODY, connections: 32, queries: STEP });
  const { rss, descriptors, database } = await server.usage({ collect: true });
  const seconds = Math.round((performance.now() - began) / 1000);
  rows[queries] = {
    'resident MB': Math.round(rss),
    descriptors,
    'database MB': Math.round(database),
    seconds,
  };
  console.log(JSON.stringify({ queries, ...rows[queries] }));
}
console.table(rows);
await load.stop();
await server.stop();
