/**
 * What reloads of a module cost the memory of the service: Node never forgets a version of an ES module.
 *
 *     node test/bench/reloads.mjs [reloads]
 *
 * The agent has five files of 8 KiB together. Each reload loads all of them again.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';

const MAIN = resolve(import.meta.dirname, '../../dist/main.js');
const RELOADS = Number(process.argv[2] ?? 200);
const FILES = ['b', 'c', 'd', 'e'];

const directory = await mkdtemp(join(tmpdir(), 'reloads-'));
const filler = Array.from(
  { length: 24 },
  (_, n) => `export function f${n}(a, b) { return a * ${n} + b * 2 - a; }`,
);
for (const name of FILES) await writeFile(join(directory, `${name}.mjs`), filler.join('\n'));
const write = (version) =>
  writeFile(
    join(directory, 'agent.mjs'),
    `${FILES.map((name) => `import * as ${name} from './${name}.mjs';`).join('\n')}\n${filler.join('\n')}
export default async function* () { yield { type: 'message', data: { content: 'version ${version}' } }; }`,
  );

await write(0);
const environment = { AGENT: './agent.mjs', PORT: '0', DATABASE_URL: 'memory:', LOG_FORMAT: 'text' };
const service = spawn(process.execPath, [MAIN, '--watch'], {
  cwd: directory,
  env: { PATH: process.env.PATH, ...environment },
  stdio: ['ignore', 'pipe', 'inherit'],
});
let output = '';
service.stdout.on('data', (chunk) => (output += chunk));

async function until(condition) {
  while (!(await condition())) await new Promise((tick) => setTimeout(tick, 10));
}

await until(() => /listens on (\S+)/.test(output));
const [, url] = /listens on (\S+)/.exec(output);

async function answer() {
  const body = JSON.stringify({ parts: [{ type: 'text', text: 'Hello' }] });
  const response = await fetch(`${url}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return response.text();
}

async function memory() {
  const text = await (await fetch(`${url}/metrics`)).text();
  const read = (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]) / 1024 / 1024;
  return { resident: read('process_resident_memory_bytes'), heap: read('nodejs_heap_size_used_bytes') };
}

const show = ({ resident, heap }) => `${resident.toFixed(1)} MiB resident, ${heap.toFixed(1)} MiB of heap`;
await answer();
const before = await memory();
console.log(`before: ${show(before)}`);
const begun = Date.now();
for (let version = 1; version <= RELOADS; version++) {
  await write(version);
  await until(async () => (await answer()).includes(`version ${version}"`));
  if (version % 50 === 0) console.log(`after ${version} reloads: ${show(await memory())}`);
}
const after = await memory();
console.log(
  `a reload takes ${Math.round((Date.now() - begun) / RELOADS)} ms from the change to the first new answer`,
);
console.log(
  `a reload costs ${(((after.resident - before.resident) * 1024) / RELOADS).toFixed(0)} KiB resident`,
);
service.kill('SIGTERM');
await until(() => service.exitCode !== null);
await rm(directory, { recursive: true });
