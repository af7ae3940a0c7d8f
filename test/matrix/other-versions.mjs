/**
 * Installs the packages in hosts of Nest 11 that depend on other versions of what these use. npm enforces the range of a peer,
 * also of an optional one, so each range too many would refuse a host.
 */
import assert from 'node:assert/strict';
import { copyFile, mkdir } from 'node:fs/promises';
import { register } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import { installHost, OF_NEST_11, packedWithOurs } from './packed-host.mjs';
import { Program } from './program.mjs';

/** What a host depends on besides, one in each. */
const OTHERS = [
  ['helmet', '^7.0.0'],
  ['helmet', '8.0.0'],
  ['jose', '^5.0.0'],
  ['ai', '^4.0.0'],
  ['ai', '^5.0.0'],
  ['ai', '^7.0.0'],
  ['bullmq', '^5.0.0'],
  ['yaml', '^1.0.0'],
  ['kysely', '^0.27.0'],
  ['kysely', '^0.29.0'],
  ['pg', '8.11.0'],
  ['@langchain/core', '^0.3.0'],
  ['prom-client', '^14.0.0'],
  ['pdfjs-dist', '^4.0.0'],
  ['image-size', '^1.0.0'],
  ['rate-limiter-flexible', '^5.0.0'],
  ['@nestjs/platform-fastify', '^11.0.0'],
];

/** What every host may install; an adapter may refuse a framework that it cannot serve. */
const INSTALLED = [
  'nest-agent-query',
  'nest-agent-query-files',
  'nest-agent-query-more-files',
  'nest-agent-query-bullmq',
];

/** @param packages the packed packages */
export async function tryOtherVersions(packages, directory) {
  const packed = packedWithOurs(packages, INSTALLED);
  const left = [[], ...OTHERS.map((other) => [other])].entries();
  const installEach = async () => {
    for (const [number, others] of left) {
      const dependencies = { ...OF_NEST_11, ...packed, ...Object.fromEntries(others) };
      const lockOnly = ['--package-lock-only', '--ignore-scripts'];
      await installHost(join(directory, `beside-${number}`), dependencies, ...lockOnly);
      const name = others.map((other) => other.join('@')).join() || 'nothing else';
      console.log(`beside ${name}: installs without a warning`);
    }
  };
  await Promise.all([installEach(), installEach()]);
  const all = { ...Object.fromEntries(OTHERS), '@nestjs/swagger': '^11.0.0', ...OF_NEST_11, ...packed };
  await tryTogether(await installHost(join(directory, 'beside-all'), all));
}

/** Starts a host that has them all: two modules, one on each kind of database, the page, access and metrics. */
async function tryTogether(folder) {
  register('../support/typescript-hooks.mjs', import.meta.url);
  const { startPostgres } = await import('../support/postgres.ts');
  const postgres = await startPostgres();
  await copyFile(join(import.meta.dirname, 'together.cjs'), join(folder, 'together.cjs'));
  await mkdir(join(folder, 'data'));
  const env = {
    ...process.env,
    POSTGRES_URL: postgres.url,
    FILE_URL: `file:${join(folder, 'data/runs.db')}`,
  };
  try {
    const host = new Program(process.execPath, ['together.cjs'], { cwd: folder, env });
    await host.during(async () => checkTogether(await host.prints(/^LISTENS (\S+) (\S+)$/m)));
    console.log('beside all of these: two modules, both databases, the page, access and metrics work');
  } finally {
    await postgres.close();
  }
}

async function checkTogether([, url, key]) {
  const headers = { authorization: `Bearer ${key}` };
  for (const path of ['research', 'support']) {
    const body = JSON.stringify({ parts: [{ type: 'text', text: 'Hello' }] });
    const options = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
    const response = await fetch(`${url}/${path}`, options);
    const expected =
      `data: {"type":"message","data":{"content":"${path}"}}\n\n` +
      'data: {"type":"done","data":{"status":"completed"}}\n\n';
    assert.equal(await response.text(), expected);
    const run = await fetch(url + response.headers.get('content-location'), { headers });
    assert.equal((await run.json()).status, 'completed');
    assert.equal((await fetch(`${url}/${path}`, { ...options, headers: {} })).status, 401);
  }
  const page = await fetch(`${url}/playground`);
  assert.match(await page.text(), /^<!doctype html>/i);
  assert.match(await (await fetch(`${url}/metrics`, { headers })).text(), /agent_query_runs/);
}
