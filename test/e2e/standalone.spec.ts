import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Service, startService } from '../support/service.js';

const run = promisify(execFile);

async function ask(service: Service, text: string): Promise<string> {
  const response = await fetch(`${service.url}/query`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ parts: [{ type: 'text', text }] }),
  });
  return response.text();
}

describe('The standalone service', () => {
  let directory: string;
  let service: Service | undefined;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'standalone-'));
  });

  afterEach(async () => {
    await service?.stop();
    service = undefined;
    await rm(directory, { recursive: true });
  });

  it('prints a curl line that works as printed', async () => {
    service = await startService();
    const line = /^curl .*$/m.exec(service.output())![0];
    expect(line).toBe(
      `curl -N -H 'Content-Type: application/json' -d '{"parts":[{"type":"text","text":"Hello"}],"kwargs":{}}' ${service.url}/query`,
    );
    const { stdout } = await run('sh', ['-c', `${line} -sS`]);
    const lines = stdout.split('\n').filter((each) => each !== '');
    expect(lines.every((each) => each.startsWith('data: {'))).toBe(true);
    expect(lines.at(-1)).toBe('data: {"type":"done","data":{"status":"completed"}}');
    expect(stdout).toContain('Hello');
  });

  it('serves a generator function of a file that AGENT names', async () => {
    const agent = `export default async function* (query, context) {
      yield { type: 'message', data: { content: query.parts[0].text.toUpperCase() + ' ' + context.owner } };
    }`;
    await writeFile(join(directory, 'my-agent.mjs'), agent);
    service = await startService({ AGENT: './my-agent.mjs' }, directory);
    expect(await ask(service, 'hello')).toBe(
      'data: {"type":"message","data":{"content":"HELLO anonymous"}}\n\n' +
        'data: {"type":"done","data":{"status":"completed"}}\n\n',
    );
  });

  it('serves a class of a file that AGENT names', async () => {
    const agent = `export default class {
      greeting = 'Hi';
      async *handle(query) { yield { type: 'message', data: { content: this.greeting } }; }
    }`;
    await writeFile(join(directory, 'my-agent.mjs'), agent);
    service = await startService({ AGENT: './my-agent.mjs' }, directory);
    expect(await ask(service, 'hello')).toContain('{"type":"message","data":{"content":"Hi"}}');
  });

  it('survives what a handler forgot to catch', async () => {
    const agent = `export default async function* () {
      void Promise.reject(new Error('nobody waits for this'));
      yield { type: 'message', data: { content: 'still here' } };
    }`;
    await writeFile(join(directory, 'my-agent.mjs'), agent);
    service = await startService({ AGENT: './my-agent.mjs' }, directory);
    expect(await ask(service, '1')).toContain('still here');
    expect(await ask(service, '2')).toContain('still here');
    expect(service.output()).toContain('nobody waits for this');
  });

  it('goes down on SIGTERM with the exit code of the signal or 0, and lets the running answer end', async () => {
    const agent = `export default async function* () {
      yield { type: 'message', data: { content: 'first' } };
      process.kill(process.pid, 'SIGTERM');
      await new Promise((resolve) => setImmediate(resolve));
      yield { type: 'message', data: { content: 'last' } };
    }`;
    await writeFile(join(directory, 'my-agent.mjs'), agent);
    service = await startService({ AGENT: './my-agent.mjs' }, directory);
    expect(await ask(service, 'go')).toBe(
      'data: {"type":"message","data":{"content":"first"}}\n\n' +
        'data: {"type":"message","data":{"content":"last"}}\n\n' +
        'data: {"type":"done","data":{"status":"completed"}}\n\n',
    );
  });

  it('tells that it is live and ready', async () => {
    service = await startService();
    const answers = ['live', 'ready'].map((what) => fetch(`${service!.url}/health/${what}`));
    const [live, ready] = await Promise.all(answers);
    expect([live!.status, await live!.json()]).toEqual([200, { status: 'live' }]);
    expect([ready!.status, await ready!.json()]).toEqual([200, { status: 'ready' }]);
  });

  it('is not ready while it goes down', async () => {
    const agent = `export default async function* (query, { signal }) {
      yield { type: 'message', data: { content: 'first' } };
      process.kill(process.pid, 'SIGTERM');
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    }`;
    await writeFile(join(directory, 'my-agent.mjs'), agent);
    service = await startService({ AGENT: './my-agent.mjs', DRAIN_MS: '2000' }, directory);
    const answer = ask(service, 'go');
    let ready: Response;
    do ready = await fetch(`${service.url}/health/ready`);
    while (ready.status === 200);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      {
        status: 'not ready',
        code: 'draining',
        detail: 'The service is going down and takes no new queries. Try again in a moment.',
      },
    ]);
    expect(await answer).toContain('"status":"failed","error":{"code":"interrupted"');
  });

  it.each([
    [{ PORT: 'http' }, 'PORT is "http"; it must be a whole number from 0 to 65535.'],
    [{ PORT: '70000' }, 'PORT is 70000; it must be a whole number from 0 to 65535.'],
    [{ DISCONNECT: 'maybe' }, 'DISCONNECT is "maybe"; it must be "continue", "cancel" or "grace".'],
    [{ MAX_PARTS: '0' }, 'MAX_PARTS is 0; it must be a whole number from 1 to 1000000.'],
    [
      { AGENT: './nowhere.mjs' },
      'AGENT is "./nowhere.mjs"; it must be "files" or the path of a JavaScript module',
    ],
  ])('does not start with %j, and says why', async (environment, message) => {
    await expect(startService(environment, directory)).rejects.toThrow(message);
  });

  it('names every variable at fault at once', async () => {
    const starting = startService({ PORT: '-1', KEEP_ALIVE_MS: 'soon' });
    await expect(starting).rejects.toThrow(
      'exit 1\nnest-agent-query cannot start.\n' +
        'PORT is "-1"; it must be a whole number from 0 to 65535.\n' +
        'KEEP_ALIVE_MS is "soon"; it must be a whole number from 10 to 2147483647.\n',
    );
  });

  it('says which port is taken', async () => {
    service = await startService();
    const { port } = new URL(service.url);
    await expect(startService({ PORT: port })).rejects.toThrow(
      'Set PORT to another port (0 takes a free one).',
    );
  });
});
