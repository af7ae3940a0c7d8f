import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promise } from '../promises.js';
import { ask, FULL, get } from '../support/client.js';
import { type Service, startService } from '../support/service.js';

/** Notes each run that it is called for, says so, and ends the process once there is a file `go`. */
const AGENT = `
import { appendFileSync, existsSync } from 'node:fs';
export default async function* (query, { runId }) {
  appendFileSync('calls', runId + '\\n');
  yield { type: 'message', data: { content: 'called' } };
  while (!existsSync('go')) await new Promise((resolve) => setImmediate(resolve));
  process.abort();
}`;

describe('A handler that ends the process', () => {
  let directory: string;
  let service: Service | undefined;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'crash-'));
    await writeFile(join(directory, 'agent.mjs'), AGENT);
  });

  afterEach(async () => {
    await service?.stop();
    await rm(directory, { recursive: true });
  });

  const start = () => startService({ AGENT: './agent.mjs', DATABASE_URL: 'file:./runs.db' }, directory);

  it(promise('service.crash'), async () => {
    service = await start();
    const kwargs = { session_id: 's' };
    const first = await ask(service.url, 'a', { headers: FULL, kwargs });
    await first.until('called');
    const others = [
      await ask(service.url, 'b', { headers: FULL, kwargs }),
      await ask(service.url, 'c', { headers: FULL, kwargs }),
    ];
    const runs = [first, ...others].map(({ runId }) => runId);
    await writeFile(join(directory, 'go'), '');
    expect(await service.exited).toBe('SIGABRT');

    // Each of the two runs that waited ends one more process.
    for (let waiting = others.length; waiting > 0; waiting -= 1) {
      const ended = await start().then(
        ({ exited }) => exited,
        ({ message }: Error) => message,
      );
      expect(ended).toContain('SIGABRT');
    }

    service = await start();
    for (const run of runs) {
      expect(
        await (await get(service.url, `/query/${run}`, { accept: 'application/json' })).json(),
      ).toMatchObject({
        status: 'failed',
        error: { code: 'interrupted' },
      });
    }
    const calls = (await readFile(join(directory, 'calls'), 'utf8')).trimEnd().split('\n');
    expect(calls).toEqual(runs);
  });
});
