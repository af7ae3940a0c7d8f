import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { promise } from '../promises.js';
import { answerOf, ask, get, request } from '../support/client.js';
import { refusalOf, serve, type Service, type SharedService, startService } from '../support/service.js';

const run = promisify(execFile);

describe('The standalone service', () => {
  let directory: string;
  let service: SharedService | undefined;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'standalone-'));
  });

  afterEach(async () => {
    await service?.stop();
    service = undefined;
    await rm(directory, { recursive: true });
  });

  it(promise('service.curl'), async () => {
    service = await serve();
    const line = /^curl .*$/m.exec(service.output())![0];
    expect(line).toBe(
      `curl -N -H 'Content-Type: application/json' -d '{"parts":[{"type":"text","text":"Hello"}],"kwargs":{}}' ${service.url}/query`,
    );
    const { stdout } = await run('sh', ['-c', `${line} -sS`]);
    expect(stdout).toBe(await (await ask(service.url, 'Hello')).whole());
    expect(answerOf(stdout)).toEqual({
      text: expect.stringContaining('This agent reads files'),
      done: [{ status: 'completed' }],
    });
  });

  it(promise('service.agent-file', 'a generator function'), async () => {
    const agent = `export default async function* (query, context) {
      yield { type: 'message', data: { content: query.parts[0].text.toUpperCase() + ' ' + context.owner } };
    }`;
    await writeFile(join(directory, 'my-agent.mjs'), agent);
    service = await serve({ AGENT: './my-agent.mjs' }, directory);
    expect(await (await ask(service.url, 'hello')).whole()).toBe(
      'data: {"type":"message","data":{"content":"HELLO anonymous"}}\n\n' +
        'data: {"type":"done","data":{"status":"completed"}}\n\n',
    );
  });

  it(promise('service.agent-file', 'a class'), async () => {
    const agent = `export default class {
      greeting = 'Hi';
      async *handle(query) { yield { type: 'message', data: { content: this.greeting } }; }
    }`;
    await writeFile(join(directory, 'my-agent.mjs'), agent);
    service = await serve({ AGENT: './my-agent.mjs' }, directory);
    expect(await (await ask(service.url, 'hello')).answer()).toEqual({
      text: 'Hi',
      done: [{ status: 'completed' }],
    });
  });

  describe('whose handler does unusual things', () => {
    const agent = `export default async function* ({ parts: [{ text }] }) {
      yield { type: 'message', data: { content: 'first' } };
      if (text === 'reject') void Promise.reject(new Error('not awaited'));
      if (text === 'signal') process.kill(process.pid, 'SIGTERM');
      await new Promise((resolve) => setImmediate(resolve));
      yield { type: 'message', data: { content: 'last' } };
    }`;
    const ANSWER =
      'data: {"type":"message","data":{"content":"first"}}\n\n' +
      'data: {"type":"message","data":{"content":"last"}}\n\n' +
      'data: {"type":"done","data":{"status":"completed"}}\n\n';
    let folder: string;
    let unusual: Service;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'standalone-'));
      await writeFile(join(folder, 'my-agent.mjs'), agent);
      unusual = await startService({ AGENT: './my-agent.mjs' }, folder);
    });
    afterAll(async () => {
      await unusual.stop();
      await rm(folder, { recursive: true });
    });

    it(promise('service.unhandled-rejection'), async () => {
      for (let query = 0; query < 2; query += 1)
        expect(await (await ask(unusual.url, 'reject')).whole()).toBe(ANSWER);
      expect(unusual.output().match(/Error: not awaited$/gm)).toHaveLength(2);
    });

    // The service that the rejections have not ended ends in order.
    it(promise('service.sigterm'), async () => {
      expect(await (await ask(unusual.url, 'signal')).whole()).toBe(ANSWER);
      expect(await unusual.exited).toBe(0);
    });
  });

  it(promise('service.health'), async () => {
    service = await serve();
    const answers = ['live', 'ready'].map((what) => get(service!.url, `/health/${what}`));
    const [live, ready] = await Promise.all(answers);
    expect([live!.status, await live!.json()]).toEqual([200, { status: 'live' }]);
    expect([ready!.status, await ready!.json()]).toEqual([200, { status: 'ready' }]);
  });

  it(promise('service.not-ready'), async () => {
    const agent = `export default async function* (query, { signal }) {
      yield { type: 'message', data: { content: 'first' } };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    }`;
    await writeFile(join(directory, 'my-agent.mjs'), agent);
    const started = await serve({ AGENT: './my-agent.mjs', DRAIN_MS: '500' }, directory);
    const connection = new Agent({ keepAlive: true, maxSockets: 1 });
    const readiness = () => request(started.url, { method: 'GET', path: '/health/ready', agent: connection });
    let ready = await readiness();
    await ready.whole();
    const answer = await ask(started.url, 'go');
    await answer.until('first');
    const stopped = started.stop();
    while (ready.status === 200) {
      ready = await readiness();
      await ready.whole();
    }
    connection.destroy();
    expect([ready.status, await ready.json()]).toEqual([
      503,
      {
        status: 'not ready',
        code: 'draining',
        detail: 'The service is shutting down and takes no new queries. Try again in a moment.',
      },
    ]);
    expect((await answer.answer()).done).toMatchObject([
      { status: 'failed', error: { code: 'interrupted' } },
    ]);
    await stopped;
  });

  it.each([
    [{ PORT: 'http' }, 'PORT is "http"; it must be a whole number from 0 to 65535.'],
    [{ PORT: '70000' }, 'PORT is 70000; it must be a whole number from 0 to 65535.'],
    [{ DISCONNECT: 'maybe' }, 'DISCONNECT is "maybe"; it must be "continue", "cancel" or "grace".'],
    [{ MAX_PARTS: '0' }, 'MAX_PARTS is 0; it must be a whole number from 1 to 1000000.'],
    [
      { AGENT: './nowhere.mjs' },
      'AGENT is "./nowhere.mjs"; it must be "files", "model", "command", "acp", "remote" or the path of a JavaScript module',
    ],
  ])(promise('service.environment', '%j'), async (environment, message) => {
    expect((await refusalOf(environment, directory)).message).toContain(message);
  });

  it(promise('service.environment', 'two at once'), async () => {
    expect(await refusalOf({ PORT: '-1', KEEP_ALIVE_MS: 'soon' })).toEqual({
      message:
        'nest-agent-query cannot start.\n' +
        'PORT is "-1"; it must be a whole number from 0 to 65535.\n' +
        'KEEP_ALIVE_MS is "soon"; it must be a whole number from 10 to 2147483647.\n',
      exitCode: 1,
    });
  });

  it(promise('service.port'), async () => {
    service = await serve();
    const { port } = new URL(service.url);
    const { message } = await refusalOf({ PORT: port });
    expect(message).toContain('Set PORT to another port (0 takes a free one).');
  });
});
