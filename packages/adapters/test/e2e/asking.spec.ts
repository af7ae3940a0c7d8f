import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { RunInputs } from 'nest-agent-query';
import { promise } from '../../../../test/promises.js';
import { ask, envelopesOf, FULL, get, request } from '../../../../test/support/client.js';
import { serve, type SharedService, startService } from '../../../../test/support/service.js';
import { ASKING_AGENT as LANGGRAPH } from '../../../langgraph/test/asking-agent.js';
import { ASKING_AGENT as MASTRA } from '../../../mastra/test/asking-agent.js';
import { ASKING_AGENT as OPENAI_AGENTS } from '../../../openai-agents/test/asking-agent.js';

/** Each asks before it pays, and writes what it does to a file. */
const AGENTS = { langgraph: LANGGRAPH, mastra: MASTRA, 'openai-agents': OPENAI_AGENTS };
type Name = keyof typeof AGENTS;
const NAMES = Object.keys(AGENTS) as Name[];

const PACKAGES = resolve(import.meta.dirname, '../../..');

describe('Agents of frameworks in a service that is killed while all of them ask', () => {
  let directory: string;
  /** The one after the kill. */
  let service: SharedService;
  const runs = new Map<Name, { id: string; before: string[] }>();

  /** The lines that an agent has written. */
  const done = async (name: Name) =>
    (await readFile(join(directory, `${name}-done`), 'utf8')).trim().split('\n');

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'asking-'));
    await symlink(join(PACKAGES, 'node_modules'), join(directory, 'node_modules'));
    for (const name of NAMES) await writeFile(join(directory, `${name}.mjs`), AGENTS[name]);
    const agents = NAMES.map((name) => `${name}=./${name}.mjs`).join();
    const variables = { AGENTS: agents, DATABASE_URL: 'file:./runs.db' };
    const killed = await startService(variables, directory);
    for (const name of NAMES) {
      const asked = await ask(killed.url, 'Pay', { path: `/${name}/query`, kwargs: { session_id: 's' } });
      await asked.until('input_required');
      runs.set(name, { id: asked.runId, before: await done(name) });
    }
    killed.process.kill('SIGKILL');
    await killed.exited;
    service = await serve(variables, directory);
  });

  afterAll(async () => {
    await service.stop();
    await rm(directory, { recursive: true });
  });

  async function approve(path: string): Promise<void> {
    const { inputs } = await (await get(service.url, path)).json<RunInputs>();
    const answers = inputs.map(({ id }) => ({ id, outcome: 'answered', value: { approved: true } }));
    expect((await request(service.url, { path }, JSON.stringify({ answers }))).status).toBe(200);
  }

  it.each(NAMES)(promise('adapters.asking', '%s'), async (name) => {
    const { id, before } = runs.get(name)!;
    expect(before).toEqual(['model']);
    await approve(`/${name}/query/${id}/inputs`);
    const envelopes = envelopesOf(await (await get(service.url, `/${name}/query/${id}`, FULL)).whole());
    expect(await done(name)).toEqual(['model', 'pay 1', 'model']);
    expect(envelopes.map(({ type }) => type).filter((type) => type !== 'usage')).toEqual([
      'tool_call',
      'input_required',
      'input_resolved',
      'tool_result',
      'message',
      'done',
    ]);
  });
});
