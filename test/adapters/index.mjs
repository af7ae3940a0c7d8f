/**
 * Builds, checks and tests the packages that adapt frameworks, with the frameworks. `npm ci` does not install those: this program
 * does, once, into `packages/node_modules`.
 *
 *     npm run adapters [-- --testPathPatterns langgraph]
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';

const ROOT = resolve(import.meta.dirname, '../..');

/** What is only built and checked here. The build of the root contains `ai-sdk`. */
const PACKAGES = ['langgraph', 'mastra', 'openai-agents'].map((name) => `packages/${name}`);
const CHECKED = [...PACKAGES, 'packages/ai-sdk', 'packages'];

if (!isInstalled()) {
  console.log('Installs the frameworks into packages/node_modules: about a minute, 480 MB.');
  step('npm', 'ci', '--prefix', 'packages', '--no-audit', '--no-fund');
}
step('npm', 'run', '--silent', 'build');
step('npx', 'tsc', '-b', ...PACKAGES.map((folder) => `${folder}/tsconfig.build.json`));
for (const folder of CHECKED) step('npx', 'tsc', '--noEmit', '-p', folder);
step('npx', 'eslint', 'packages/*.ts', 'packages/ai-sdk', ...PACKAGES);
step(
  process.execPath,
  '--experimental-vm-modules',
  '--no-warnings',
  'node_modules/jest/bin/jest.js',
  ...(process.argv.length > 2
    ? process.argv.slice(2)
    : [
        '--testPathPatterns',
        'packages/(ai-sdk|langgraph|mastra|openai-agents|adapters\\.spec)',
        'test/documents',
      ]),
);

/** Whether the packages of the lock file are installed: npm notes what it has installed. */
function isInstalled() {
  try {
    const [wanted, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map(
      (file) => JSON.parse(readFileSync(resolve(ROOT, 'packages', file), 'utf8')).packages,
    );
    return Object.entries(wanted).every(
      ([path, { version, optional }]) => path === '' || optional || installed[path]?.version === version,
    );
  } catch {
    return false;
  }
}

/** Executes a command in the root of the repository. If it fails, this program ends. */
function step(command, ...parameters) {
  const began = performance.now();
  const { status } = spawnSync(command, parameters, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
  console.log(`${((performance.now() - began) / 1_000).toFixed(0)} s: ${command} ${parameters.join(' ')}`);
}
