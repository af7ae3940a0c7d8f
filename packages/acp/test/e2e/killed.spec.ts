import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { RunInputs } from 'nest-agent-query';
import { promise } from '../../../../test/promises.js';
import { ask, envelopesOf, follow, get, request } from '../../../../test/support/client.js';
import { eventuallyElsewhere } from '../../../../test/support/conditions.js';
import { serve, type SharedService, startService } from '../../../../test/support/service.js';
import { dataOf, Scripted, textOf } from '../scripted.js';

const BUILT = resolve(import.meta.dirname, '../../dist/index.js');

describe('A service with an agent of ACP that is killed', () => {
  it(promise('acp.killed'), async () => {
    const scripted = new Scripted();
    const directory = await mkdtemp(join(tmpdir(), 'acp-killed-'));
    const options = JSON.stringify({ ...scripted.options('deaf;stays'), stopDeadlineMs: 1_000 });
    const module = `import { fromAcp } from ${JSON.stringify(BUILT)};\nexport default fromAcp(${options});\n`;
    await writeFile(join(directory, 'agent.mjs'), module);
    const settings = { AGENT: './agent.mjs', DATABASE_URL: 'file:./runs.db' };
    const killed = await startService(settings, directory);
    let service: SharedService = killed;
    try {
      const done = join(directory, 'done');
      const script = `DO say Before. \nDO run echo once >> ${done}; echo made\nDO say After.`;
      const asked = await ask(service.url, script, { kwargs: { session_id: 's' } });
      await asked.until('input_required');
      const lost = scripted.processes;
      expect(lost.length).toBe(1);
      killed.process.kill('SIGKILL');
      await killed.exited;
      expect(scripted.processes).toEqual(lost);
      service = await serve(settings, directory);
      await eventuallyElsewhere(() => scripted.processes.length === 0);
      const path = `/query/${asked.runId}/inputs`;
      const { inputs } = (await (await get(service.url, path)).json()) as unknown as RunInputs;
      const answers = inputs.map(({ id }) => ({ id, outcome: 'answered', value: { approved: true } }));
      expect((await request(service.url, { path }, JSON.stringify({ answers }))).status).toBe(200);
      const envelopes = envelopesOf(await (await follow(service.url, asked.runId)).whole());
      expect(await readFile(done, 'utf8')).toBe('once\n');
      expect(dataOf(envelopes, 'input_required').length).toBe(1);
      expect(textOf(envelopes)).toBe('Before. After.');
      const calls = dataOf(envelopes, 'tool_call').map(({ id }) => id);
      expect(dataOf(envelopes, 'tool_result').map(({ id }) => id)).toEqual(calls);
      expect(envelopes.at(-1)!.data).toEqual({ status: 'completed' });
    } finally {
      await service.stop();
      await rm(directory, { recursive: true });
      await scripted.end();
    }
  });
});
