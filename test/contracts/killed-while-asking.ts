import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Envelope, RunInputs } from '../../src/index.js';
import { ask, envelopesOf, follow, get, request } from '../support/client.js';
import { serve, type SharedService, startService } from '../support/service.js';

const ROOT = resolve(import.meta.dirname, '../..');

/** What has happened in a service whose process was killed between a question and its answer. */
export interface KilledWhileAsking {
  /** The lines that the agent has written to the file `done` before the answer, and at the end. */
  before: string[];
  done: string[];
  /** What callers have received in the end. */
  envelopes: Envelope[];
}

/**
 * Lets an agent ask one question, kills its service, starts another one, and approves.
 *
 * @param agent the text of a module that imports frameworks, and the build of the package `adapter`
 */
export async function killedWhileAsking(adapter: string, agent: string): Promise<KilledWhileAsking> {
  const directory = await mkdtemp(join(tmpdir(), 'asking-'));
  await symlink(join(ROOT, 'packages/node_modules'), join(directory, 'node_modules'));
  const built = JSON.stringify(join(ROOT, `packages/${adapter}/dist/index.js`));
  await writeFile(join(directory, 'agent.mjs'), agent.replace('ADAPTER', built));
  const done = async () => (await readFile(join(directory, 'done'), 'utf8')).trim().split('\n');
  const variables = { AGENT: './agent.mjs', DATABASE_URL: 'file:./runs.db' };
  const killed = await startService(variables, directory);
  let service: SharedService = killed;
  try {
    const asked = await ask(service.url, 'Pay', { kwargs: { session_id: 's' } });
    await asked.until('input_required');
    const before = await done();
    killed.process.kill('SIGKILL');
    await killed.exited;
    service = await serve(variables, directory);
    await approve(service.url, asked.runId);
    const envelopes = envelopesOf(await (await follow(service.url, asked.runId)).whole());
    return { before, done: await done(), envelopes };
  } finally {
    await service.stop();
    await rm(directory, { recursive: true });
  }
}

async function approve(url: string, runId: string): Promise<void> {
  const path = `/query/${runId}/inputs`;
  const { inputs } = (await (await get(url, path)).json()) as unknown as RunInputs;
  const answers = inputs.map(({ id }) => ({ id, outcome: 'answered', value: { approved: true } }));
  const reply = await request(url, { path }, JSON.stringify({ answers }));
  if (reply.status !== 200) throw new Error(`The answer got ${reply.status}.`);
}
