import { mkdtemp, realpath, writeFile } from 'node:fs/promises';
import type { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answerOf, ask, FULL, get } from './client.js';
import type { Service, SharedService } from './service.js';

/** Says its name, the text and how many turns the session has. "hold" does not end, except in a second attempt. */
const agent = (name: string) => `
export const restarts = 1;
export default async function* ({ parts: [{ text }] }, { history, signal, resumed }) {
  yield { type: 'message', data: { content: '${name}: ' + text + ' ' + history.length } };
  if (text === 'file') {
    const content = new TextEncoder().encode('of ${name}');
    yield { type: 'file', data: { name: 'a.txt', mimeType: 'text/plain', content } };
  }
  if (text === 'hold' && !resumed) await new Promise((resolve) => signal.addEventListener('abort', resolve));
}`;

export const AGENTS = 'research=./research.mjs, support=./support.mjs';
export const DETACHED = { prefer: 'respond-async' };

/** Starts a service with these agents and further variables. */
type Start = (environment: Record<string, string>) => Promise<SharedService>;

/** Makes a folder with the modules of both agents. */
export async function directoryWithAgents(): Promise<string> {
  const made = await realpath(await mkdtemp(join(tmpdir(), 'several-agents-')));
  for (const name of ['research', 'support']) await writeFile(join(made, `${name}.mjs`), agent(name));
  return made;
}

export const settings = (environment: Record<string, string>) => ({ AGENTS, NO_COLOR: '1', ...environment });

type Rest = { headers?: Record<string, string>; kwargs?: object; agent?: Agent };

export const askAgent = ({ url }: SharedService, name: string, text: string, rest: Rest = {}) =>
  ask(url, text, { path: `/${name}/query`, ...rest });

export const textOf = async (...parameters: Parameters<typeof askAgent>) =>
  (await (await askAgent(...parameters)).answer()).text;

/** The text of the run of an agent, from its beginning, when it has ended. */
async function followed({ url }: SharedService, name: string, runId: string): Promise<string> {
  const reply = await get(url, `/${name}/query/${runId}`, FULL);
  return answerOf(await reply.whole()).text;
}

/** Kills a service whose agents have a run that executes and one that waits, and starts another one. */
export async function expectRestart(
  lost: Service,
  environment: Record<string, string>,
  start: Start,
): Promise<void> {
  const runs: [name: string, id: string, text: string][] = [];
  for (const name of ['research', 'support'])
    for (const text of ['hold', 'wait']) {
      const { id } = await (await askAgent(lost, name, text, { headers: DETACHED })).json<{ id: string }>();
      runs.push([name, id, text]);
    }
  const held = await get(lost.url, `/research/query/${runs[0]![1]}`, FULL);
  await held.until('research: hold');
  lost.process.kill('SIGKILL');
  await lost.exited;
  const service = await start({ ...environment, AGENTS: 'support=./support.mjs,research=./research.mjs' });
  for (const [name, id, text] of runs)
    expect(await followed(service, name, id)).toMatch(new RegExp(`${name}: ${text} 0$`));
}

/** Asks both agents of services that share only their database, of which one takes queries and another one executes. */
export async function expectOwnAgents(environment: Record<string, string>, start: Start): Promise<void> {
  const api = await start({ ...environment, ROLE: 'api' });
  await start({ ...environment, ROLE: 'worker' });
  const names = Array.from({ length: 12 }, (_, number) => (number % 3 ? 'research' : 'support'));
  const texts = names.map((name, number) => textOf(api, name, String(number)));
  expect(await Promise.all(texts)).toEqual(names.map((name, number) => `${name}: ${number} 0`));
}
