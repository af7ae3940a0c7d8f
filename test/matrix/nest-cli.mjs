/** Tries what users of Nest do in a checkout: `nest build`, and `nest start --watch` while they change a file. */
import assert from 'node:assert/strict';
import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { npm, run } from './commands.mjs';
import { Program } from './program.mjs';
import { RELEASED_BEFORE } from './versions.mjs';

/** Where the small agent says what to do next: the answer shows that a change has arrived. */
const CHANGED = { file: 'src/agents/echo/index.ts', from: 'Nobody looks', to: 'No agent looks' };

const LISTENS = /listens on (http:\S+)/;

/**
 * @param place `checkout` has the packages of its lock file; `@nestjs/cli` is installed in `directory`
 * @throws Error if a command fails, or a change does not arrive
 */
export async function tryNestCli({ checkout, directory, env }) {
  const tool = join(directory, 'nest-cli');
  await mkdir(tool);
  await writeFile(join(tool, 'package.json'), '{"private":true}');
  await npm(['install', '--before', RELEASED_BEFORE, '@nestjs/cli@12'], { cwd: tool, env });
  const nest = join(tool, 'node_modules/.bin/nest');
  // What `npm ci` has done in a checkout of a user.
  await npm(['run', 'postprepare'], { cwd: checkout, env });
  await run(nest, ['build'], { cwd: checkout, env });
  await access(join(checkout, 'dist/main.js'));
  console.log('nest build: dist/main.js is there');
  await watch(nest, checkout, env);
  console.log('nest start --watch: a change of a source arrives in the answer');
}

async function watch(nest, cwd, env) {
  const variables = { ...env, PORT: '0', LOG_FORMAT: 'text', AGENT: 'echo' };
  const watching = new Program(nest, ['start', '--watch'], { cwd, env: variables });
  await watching.during(async () => {
    const [, url] = await watching.prints(LISTENS);
    assert.match(await answerOf(url), new RegExp(CHANGED.from));
    const { length } = watching.output;
    const path = join(cwd, CHANGED.file);
    await writeFile(path, (await readFile(path, 'utf8')).replaceAll(CHANGED.from, CHANGED.to));
    const [, changed] = await watching.prints(LISTENS, length);
    assert.match(await answerOf(changed), new RegExp(CHANGED.to));
  });
}

async function answerOf(url) {
  const body = JSON.stringify({ parts: [{ type: 'text', text: 'Hello' }] });
  const headers = { 'content-type': 'application/json' };
  return (await fetch(`${url}/query`, { method: 'POST', headers, body })).text();
}
