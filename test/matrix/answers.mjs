import assert from 'node:assert/strict';
import { Program } from './program.mjs';

const DONE = 'data: {"type":"done","data":{"status":"completed"}}\n\n';
const said = (content) => `data: ${JSON.stringify({ type: 'message', data: { content } })}\n\n`;

/**
 * Starts a built application and looks at each feature.
 *
 * @returns the names of the features that work
 * @throws Error with the output of the application, if one does not
 */
export async function checkAnswers(app, adapter, env) {
  const host = new Program('node', ['dist/main.js'], { cwd: app, env: { ...env, ADAPTER: adapter } });
  const checked = [];
  const [code, signal] = await host.during(async () => {
    const [, started] = await host.prints(/^STARTED (.*)$/m);
    const { url, paths } = JSON.parse(started);
    for (const [name, check] of Object.entries(FEATURES)) {
      await check(url, paths);
      checked.push(name);
    }
  });
  assert.ok(code === 0 || signal === 'SIGTERM', `The application ended with ${signal ?? code}.`);
  assert.doesNotMatch(host.output, /ERROR|Warning/);
  return [...checked, 'shutdown'];
}

async function ask(url, path, { user, parts = [{ type: 'text', text: 'Hello' }], ...body } = {}) {
  const headers = { 'content-type': 'application/json', ...(user && { 'x-user': user }) };
  const response = await fetch(url + path, {
    method: 'POST',
    headers,
    body: JSON.stringify({ parts, ...body }),
  });
  return {
    status: response.status,
    text: await response.text(),
    run: response.headers.get('content-location'),
  };
}

const FEATURES = {
  async stream(url) {
    const { status, text } = await ask(url, '/query', { user: 'ann' });
    assert.deepEqual([status, text], [200, said('To ann: ') + said('Hello') + DONE]);
  },
  async files(url) {
    const base64 = Buffer.alloc(300_000).toString('base64');
    const parts = [{ type: 'file', name: 'a.bin', mimeType: 'application/octet-stream', base64 }];
    const { text } = await ask(url, '/query', { parts });
    assert.equal(text, said('To nobody: ') + said('a.bin has 300000 bytes. ') + DONE);
  },
  async 'own routes'(url) {
    assert.equal(await (await fetch(url)).text(), 'Hello World!');
  },
  async pipes(url) {
    const { status } = await ask(url, '/query', { unknown: { any: 'thing' }, kwargs: { any: 'thing' } });
    assert.equal(status, 200);
  },
  async CLS(url) {
    const users = Array.from({ length: 20 }, (_, index) => `user-${index}`);
    const answers = await Promise.all(users.map((user) => ask(url, '/query', { user })));
    assert.deepEqual(
      answers.map(({ text }) => text),
      users.map((user) => said(`To ${user}: `) + said('Hello') + DONE),
    );
  },
  async guard(url) {
    const { status, text } = await ask(url, '/guarded');
    assert.deepEqual([status, JSON.parse(text).code], [403, 'forbidden']);
  },
  async 'two modules'(url) {
    const { text, run } = await ask(url, '/guarded', { user: 'ann' });
    assert.equal(text, said('To ann: ') + said('Hello') + DONE);
    const headers = { 'x-user': 'ann' };
    const id = run.split('/').at(-1);
    assert.equal((await fetch(`${url}/query/${id}`, { headers })).status, 404);
    assert.equal((await fetch(`${url}${run}`, { headers })).status, 200);
  },
  async throttler(url) {
    assert.equal((await ask(url, '/guarded', { user: 'ann' })).status, 200);
    const { status, text } = await ask(url, '/guarded', { user: 'ann' });
    const { code, detail } = JSON.parse(text);
    assert.deepEqual([status, code], [429, 'rate_limited']);
    assert.equal(detail, 'There were too many requests. Try again later.');
    assert.equal((await ask(url, '/query')).status, 200);
  },
  async swagger(_, paths) {
    assert.deepEqual(paths['/query'].post.tags, ['agent']);
    assert.deepEqual(paths['/guarded'].post.tags, ['guarded']);
  },
};
