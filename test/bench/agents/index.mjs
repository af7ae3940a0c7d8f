import { resolve } from 'node:path';
import { run, withPackages } from '../../matrix/commands.mjs';
import { linesOf } from '../programs.mjs';

const PACKAGES = resolve(import.meta.dirname, '../../../packages');

/** Each compares one or more kinds of agents with the framework, the program or the service behind them, in one process or run. */
const PROGRAMS = ['adapters', 'model', 'command', 'remote', 'acp'];

/**
 * Measures what agents cost: events a second that a caller gets, and those of the framework, the program or the service behind
 * the agent alone. The programs are executed one after another.
 *
 * @returns their lines
 */
export async function measureAgents() {
  await withPackages(PACKAGES);
  const adapters = ['langgraph', 'mastra', 'openai-agents', 'acp'];
  const builds = adapters.map((name) => `${PACKAGES}/${name}/tsconfig.build.json`);
  await run('npx', ['tsc', '-b', ...builds], { cwd: PACKAGES });
  const lines = [];
  for (const name of PROGRAMS) lines.push(await linesOf(`${import.meta.dirname}/${name}.mjs`));
  return lines.join('\n');
}
