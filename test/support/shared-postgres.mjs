/**
 * Jest's global set-up: one Postgres server for all suites of a run. It is started when the first suite asks for it at the
 * address in `TEST_POSTGRES`, and ends with the run.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { register } from 'node:module';
import process from 'node:process';

register('./typescript-hooks.mjs', import.meta.url);

/** Durability is not what these suites test; those that do start their own server. */
const SETTINGS = [
  'fsync = off',
  'full_page_writes = off',
  'synchronous_commit = off',
  'max_connections = 300',
];

export default async function setUp() {
  let starting;
  const start = async () => {
    const { startPostgres } = await import('./postgres.ts');
    const server = await startPostgres(SETTINGS);
    // A suite that runs in this process has not left it behind.
    server.unref();
    return server;
  };
  const front = createServer((_, response) => {
    starting ??= start();
    starting.then(
      ({ url }) => response.end(url),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  front.listen(0, '127.0.0.1').unref();
  await once(front, 'listening');
  process.env['TEST_POSTGRES'] = `http://127.0.0.1:${front.address().port}`;
  globalThis.stopSharedPostgres = async () => {
    front.close();
    await (await starting)?.close();
  };
}
