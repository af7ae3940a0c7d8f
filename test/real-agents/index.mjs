/**
 * Executes coding agents behind the service, with a scripted model, and writes what was seen into the tables of
 * docs/coding-agents.md. It needs what `npm run build` and `npm run adapters -- build` have built, Linux, and installs the agents here.
 *
 *     npm run real-agents                         # Codex and Gemini CLI: about four minutes
 *     npm run real-agents -- --all                # the others too: more than a gigabyte, and about ten minutes
 *     npm run real-agents -- --only codex,qwen    # those; the other rows stay
 *     npm run real-agents -- --check              # writes nothing, and fails where a cell differs
 */
import { readFile, writeFile } from 'node:fs/promises';
import { register } from 'node:module';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { format, resolveConfig } from 'prettier';
import { measuring } from '../matrix/proxies/opened.mjs';
import { installAgents } from './install.mjs';

register('../support/typescript-hooks.mjs', import.meta.url);

const DOCUMENT = join(resolve(import.meta.dirname, '../..'), 'docs/coding-agents.md');

await measuring(main, { all: { type: 'boolean' } });

async function main({ only, check, all }, opened) {
  const { AGENTS } = await import('./agents.ts');
  const { seeAgent } = await import('./see-agent.mjs');
  const chosen = chosenOf(AGENTS, only?.split(','), all);
  const versions = await installAgents(chosen);
  const seen = [];
  for (const agent of chosen) {
    const { failures, ...one } = await seeAgent(agent, versions[agent.packageName], opened);
    seen.push(one);
    for (const failure of failures) console.error(failure);
    if (failures.length > 0) process.exitCode = 1;
  }
  await (check ? compare : write)(seen);
}

function chosenOf(agents, names, all) {
  const keys = agents.map(({ key }) => key);
  const unknown = names?.filter((name) => !keys.includes(name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`There is no ${unknown.join(', ')}. There are: ${keys.join(', ')}.`);
  return agents.filter(({ key, isFurther }) => (names ? names.includes(key) : all || !isFurther));
}

async function write(seen) {
  const { withSeen } = await import('./table.ts');
  const text = withSeen(await readFile(DOCUMENT, 'utf8'), seen);
  const options = { ...(await resolveConfig(DOCUMENT)), filepath: DOCUMENT };
  await writeFile(DOCUMENT, await format(text, options));
  console.log('docs/coding-agents.md has what was seen.');
}

/** Says which cells differ from the document. */
async function compare(seen) {
  const { differencesOf } = await import('./table.ts');
  const all = differencesOf(await readFile(DOCUMENT, 'utf8'), seen);
  for (const difference of all) console.error(difference);
  if (all.length > 0) process.exitCode = 1;
  console.log(all.length > 0 ? `${all.length} cells differ.` : 'All cells that were seen are as documented.');
}
