/** Creates an application as a new user does, `npm create nest-agent-query`, and uses all that its README names. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { npm, run } from './commands.mjs';
import { installNode } from './node-version.mjs';
import { Program } from './program.mjs';
import { NODE, RELEASED_BEFORE } from './versions.mjs';

const STARTED = /Open (http:\S+)\/playground/;

/**
 * @param packages the packed packages
 * @throws Error if a command fails, or the application answers something else
 */
export async function tryCreated(packages, directory) {
  const folder = join(directory, 'created');
  await mkdir(folder);
  // Nest 12 asks for it. Without a key, whatever the machine has set.
  const env = { ...(await installNode(NODE[22], folder)), MODEL: '', MODEL_BASE_URL: '', DATABASE_URL: '' };
  const { path } = packages.find(({ manifest }) => manifest.name === 'create-nest-agent-query');
  const create = ['create-nest-agent-query', 'my-agent', '--packed', dirname(path)];
  await run('npm', ['exec', '--yes', `--package=${path}`, '--', ...create], { cwd: folder, env });
  const app = { cwd: join(folder, 'my-agent'), env };
  // As the command prints it, but for the date.
  await npm(['install', '--before', RELEASED_BEFORE], app);
  await run('node', ['node_modules/typescript/bin/tsc', '-p', '.', '--noEmit'], app);
  await npm(['test'], app);
  console.log('created: is installed, has no error of types, and passes its test');
  await tryStart(app);
  await tryModel(app);
  await tryProduction(app);
}

async function tryStart({ cwd, env }) {
  let address;
  // npm alone gets the signal, as from a supervisor.
  const onlyNpm = false;
  const work = async (url) => {
    address = url;
    assert.equal(await answerOf(url, 'Where is order 1001?'), 'Order **1001** to Oslo is *sent*.');
    assert.match(await answerOf(url, 'Hello!'), /no `MODEL` is set/);
    for (const path of ['/playground', '/health/live', '/health/ready'])
      assert.equal((await fetch(url + path)).status, 200, path);
  };
  await during(['npm', 'start'], { cwd, env }, work, onlyNpm);
  await assert.rejects(fetch(address), 'The application has ended with npm.');
  console.log('created: npm start answers without a key, serves the page and its health, and ends with npm');
}

/** A model at an endpoint, which says what it has been asked. */
async function tryModel({ cwd, env }) {
  let asked;
  const endpoint = createServer(async (request, response) => {
    const { model, messages } = JSON.parse(Buffer.concat(await request.toArray()));
    asked = [request.url, request.headers.authorization, model, messages.at(-1).content];
    const chunk = { choices: [{ index: 0, delta: { content: 'From the model' }, finish_reason: 'stop' }] };
    response.setHeader('content-type', 'text/event-stream');
    response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
  });
  await once(endpoint.listen(0, '127.0.0.1'), 'listening');
  try {
    const base = `http://127.0.0.1:${endpoint.address().port}/v1`;
    // As its README says, in a file.
    await writeFile(join(cwd, '.env'), `MODEL=small\nMODEL_BASE_URL=${base}\nMODEL_API_KEY=secret\n`);
    const unset = { ...env };
    for (const name of ['MODEL', 'MODEL_BASE_URL', 'MODEL_API_KEY']) delete unset[name];
    await during(['npm', 'start'], { cwd, env: unset }, async (url) => {
      assert.equal(await answerOf(url, 'Hello!'), 'From the model');
    });
    assert.deepEqual(asked, ['/v1/chat/completions', 'Bearer secret', 'small', 'Hello!']);
  } finally {
    endpoint.close();
  }
  const half = run('npm', ['start'], { cwd, env: { ...env, MODEL: 'small' } });
  await assert.rejects(half, /MODEL is set, but MODEL_BASE_URL is not/);
  console.log('created: a model answers that .env names, and half of its settings are refused');
}

/** What the Dockerfile does, without Docker. */
async function tryProduction({ cwd, env }) {
  await npm(['run', 'build'], { cwd, env });
  await npm(['prune', '--omit=dev'], { cwd, env });
  const production = { cwd, env: { ...env, NODE_ENV: 'production', HOST: '0.0.0.0' } };
  await during(['node', 'dist/main.js'], production, async (url) => {
    const { runs } = await (await fetch(`${url}/query`)).json();
    assert.deepEqual([...new Set(runs.map(({ status }) => status))], ['completed'], 'Runs are kept.');
    assert.equal(await answerOf(url, 'Has 1003 arrived?'), 'Order **1003** to Accra is *delivered*.');
  });
  console.log('created: works without what only its development needs, and has kept its runs');
}

async function during([command, ...parameters], { cwd, env }, work, isWhole = true) {
  const application = new Program(command, parameters, { cwd, env: { ...env, PORT: '0' } });
  await application.during(async () => {
    const [, url] = await application.prints(STARTED);
    await work(url.replace('[::1]', '127.0.0.1'));
  }, isWhole);
}

/** The messages of an answer, which must be completed. */
async function answerOf(url, text) {
  const body = JSON.stringify({ parts: [{ type: 'text', text }] });
  const headers = { 'content-type': 'application/json' };
  const stream = await (await fetch(`${url}/query`, { method: 'POST', headers, body })).text();
  const envelopes = [...stream.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json));
  assert.deepEqual(envelopes.at(-1), { type: 'done', data: { status: 'completed' } });
  return envelopes.map(({ type, data }) => (type === 'message' ? data.content : '')).join('');
}
