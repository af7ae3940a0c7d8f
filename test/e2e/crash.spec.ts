import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promise } from '../promises.js';
import { ask, FULL, get } from '../support/client.js';
import { serve, type SharedService, startService } from '../support/service.js';

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
  let service: SharedService | undefined;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'crash-'));
    await writeFile(join(directory, 'agent.mjs'), AGENT);
  });

  afterEach(async () => {
    await service?.stop();
    await rm(directory, { recursive: true });
  });

  const settings = { AGENT: './agent.mjs', DATABASE_URL: 'file:./runs.db' };

  it(promise('service.crash'), async () => {
    const crashing = await startService(settings, directory);
    service = crashing;
    const kwargs = { session_id: 's' };
    const first = await ask(service.url, 'a', { headers: FULL, kwargs });
    await first.until('called');
    const second = await ask(service.url, 'b', { headers: FULL, kwargs });
    const runs = [first, second].map(({ runId }) => runId);
    await writeFile(join(directory, 'go'), '');
    expect(await crashing.exited).toBe('SIGABRT');

    // The run that waited ends one more process.
    const ended = await startService(settings, directory).then(
      ({ exited }) => exited,
      ({ message }: Error) => message,
    );
    expect(ended).toContain('SIGABRT');

    service = await serve(settings, directory);
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
