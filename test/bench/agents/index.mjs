import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import process from 'node:process';
import { run, withPackages } from '../../matrix/commands.mjs';

const PACKAGES = resolve(import.meta.dirname, '../../../packages');

/** Each compares one or more kinds of agents with the framework, the program or the service behind them, in one process or run. */
const PROGRAMS = ['adapters', 'model', 'command', 'remote'];

/**
 * Measures what agents cost: events a second that a caller gets, and those of the framework, the program or the service behind
 * the agent alone. The programs are executed one after another.
 *
 * @returns their lines
 */
export async function measureAgents() {
  await withPackages(PACKAGES);
  const adapters = ['langgraph', 'mastra', 'openai-agents'];
  const builds = adapters.map((name) => `${PACKAGES}/${name}/tsconfig.build.json`);
  await run('npx', ['tsc', '-b', ...builds], { cwd: PACKAGES });
  let lines = '';
  for (const name of PROGRAMS) {
    const child = spawn(process.execPath, [`${import.meta.dirname}/${name}.mjs`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    for await (const text of child.stdout.setEncoding('utf8')) lines += text;
    const [code, signal] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
    if (code !== 0) throw new Error(`${name}.mjs ended with ${signal ?? code}.`);
  }
  return lines.trimEnd();
}
