/**
 * Builds all packages that need no framework, the page and the description of the endpoint: `npm run build`. It does nothing
 * if neither a source, nor an installed package, nor what it has built has changed since the last time.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';

const ROOT = resolve(import.meta.dirname, '..');
const STAMP = join(ROOT, 'dist/build-stamp');

/** In the order in which they are compiled; each brings those that it needs. */
const PACKAGES = [
  'a2a',
  'acp',
  'files',
  'ai-sdk',
  'bullmq',
  'claude-agent',
  'conformance',
  'store-contract',
  'protocols',
  'mcp',
  'create',
];

const STEPS = [
  ['npx', 'tsc', '-b', ...[...PACKAGES, 'openapi'].map((name) => `packages/${name}/tsconfig.build.json`)],
  [process.execPath, 'build/bundle.mjs'],
  [process.execPath, 'build/client.mjs'],
  ['npm', 'run', '--silent', 'build', '-w', 'nest-agent-query-playground'],
  [process.execPath, 'build/fastify.mjs'],
  [process.execPath, 'build/openapi.mjs'],
];

/** What each step writes at its end. */
const OUTPUTS = [
  'dist/build.tsbuildinfo',
  ...[...PACKAGES, 'adapters', 'cli', 'client', 'doctor', 'modules', 'more-files'].map(
    (name) => `packages/${name}/dist/build.tsbuildinfo`,
  ),
  'dist/main.js',
  'packages/client/dist/browser.js',
  'dist/playground/page/index.html',
  'dist/openapi/build.tsbuildinfo',
  'dist/fastify/adapter.js',
  'dist/openapi/endpoint.json',
];

/** What is compiled, and how; and which packages are installed. */
const FOLDERS = ['build', 'packages', 'src'];
const FILES = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'node_modules/.package-lock.json'];
const OF_NO_BUILD = /\/(?:dist|node_modules|template|test)$|\.spec\.ts$|\.md$/;

if (!isFresh()) build();

function build() {
  rmSync(STAMP, { force: true });
  const sources = digestOfSources();
  for (const [command, ...parameters] of STEPS) {
    const { status } = spawnSync(command, parameters, { cwd: ROOT, stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
  }
  writeFileSync(STAMP, stampOf(sources));
}

function isFresh() {
  const isThere = existsSync(STAMP) && OUTPUTS.every((file) => existsSync(join(ROOT, file)));
  return isThere && readFileSync(STAMP, 'utf8') === stampOf(digestOfSources());
}

/** Another command may have written an output since. */
function stampOf(sources) {
  return JSON.stringify([sources, OUTPUTS.map((file) => statSync(join(ROOT, file)).mtimeMs)]);
}

function digestOfSources() {
  const hash = createHash('sha256');
  for (const file of [...FILES, ...FOLDERS.flatMap(filesIn)])
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0');
  return hash.digest('hex');
}

function filesIn(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (OF_NO_BUILD.test(path)) return [];
    return entry.isDirectory() ? filesIn(path) : [path];
  });
}
