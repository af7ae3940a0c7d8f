/** Installs the frameworks once, which `npm ci` does not bring, and builds the packages that adapt them. */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import process from 'node:process';
import { withPackages } from '../matrix/commands.mjs';

const ROOT = resolve(import.meta.dirname, '../..');

/** What the build of the root does not contain. */
export const FRAMEWORKS = ['langgraph', 'mastra', 'openai-agents'].map((name) => `packages/${name}`);

export async function buildAdapters() {
  await withPackages(resolve(ROOT, 'packages'));
  step('npm', 'run', '--silent', 'build');
  step('npx', 'tsc', '-b', ...FRAMEWORKS.map((folder) => `${folder}/tsconfig.build.json`));
}

/** Executes a command in the root of the repository. If it fails, this program ends. */
export function step(command, ...parameters) {
  const began = performance.now();
  const { status } = spawnSync(command, parameters, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
  console.log(`${((performance.now() - began) / 1_000).toFixed(0)} s: ${command} ${parameters.join(' ')}`);
}
