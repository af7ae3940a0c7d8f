import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask } from './support/client.js';
import { eventuallyElsewhere } from './support/conditions.js';
import { ROOT } from './support/documents.js';
import { itInLongForm } from './support/long-form.js';

/** A handler that answers with two messages, a second apart. */
const SLOW = `export default async function* () {
  yield { type: 'message', data: { content: 'one ' } };
  await new Promise((resolve) => setTimeout(resolve, 1000));
  yield { type: 'message', data: { content: 'two' } };
}`;

/** A program that ends a second after a signal, and says how many came. */
const PATIENT = `
let signals = 0;
for (const name of ['SIGINT', 'SIGTERM'])
  process.on(name, () => {
    if (++signals === 1) setTimeout(() => { console.log('ends in order'); process.exit(0); }, 1000);
  });
console.log('started ' + process.pid);
setInterval(() => undefined, 1000);
`;

describe('npm start', () => {
  let directory: string;
  let npm: ChildProcess;
  let output: string;

  beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'npm-start-'))));
  afterEach(() => rm(directory, { recursive: true }));

  function start(cwd: string, script: string, variables: Record<string, string> = {}): void {
    output = '';
    const env = { PATH: process.env['PATH'], HOME: directory, ...variables };
    // A group of its own, as a shell of a terminal makes it.
    npm = spawn('npm', ['run', script], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [npm.stdout!, npm.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }

  const isThere = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  async function endsInOrder(end: () => void): Promise<void> {
    const agent = join(directory, 'slow.mjs');
    await writeFile(agent, SLOW);
    start(ROOT, 'start', { AGENT: agent, PORT: '0', LOG_FORMAT: 'text' });
    await eventuallyElsewhere(() => /listens on (http:\S+)/.test(output));
    const [, url] = /listens on (http:\S+)/.exec(output)!;
    const answer = await ask(url!);
    await answer.until('one ');
    // npm may have ended before the answer is read here.
    const closed = once(npm, 'close');
    end();
    expect((await answer.answer()).text).toBe('one two');
    await closed;
    await expect(fetch(url!)).rejects.toThrow();
    expect(output).not.toContain('second signal');
  }

  const OF_CLONE = 'ends the service of a clone in order, and npm after it';
  it(`${OF_CLONE}: SIGTERM of npm`, () => endsInOrder(() => npm.kill('SIGTERM')));
  it(`${OF_CLONE}: Ctrl-C of a terminal, which all processes get`, () =>
    endsInOrder(() => process.kill(-npm.pid!, 'SIGINT')));
  // npm passes on both signals in the same way, and the service treats them alike.
  itInLongForm(`${OF_CLONE}: SIGINT of npm`, () => endsInOrder(() => npm.kill('SIGINT')));

  it.each(['start', 'start:prod'])('ends a created application: npm run %s', async (script) => {
    const template = join(ROOT, 'packages/create/template/package.json');
    const { scripts } = JSON.parse(await readFile(template, 'utf8')) as { scripts: Record<string, string> };
    await writeFile(
      join(directory, 'package.json'),
      JSON.stringify({ name: 'app', type: 'module', scripts }),
    );
    await mkdir(join(directory, 'dist'));
    await mkdir(join(directory, 'node_modules/.bin'), { recursive: true });
    await writeFile(join(directory, 'node_modules/.bin/nest'), '#!/bin/sh\n', { mode: 0o755 });
    await writeFile(join(directory, 'dist/main.js'), PATIENT);
    start(directory, script);
    await eventuallyElsewhere(() => /started \d+/.test(output));
    const pid = Number(/started (\d+)/.exec(output)![1]);
    npm.kill('SIGTERM');
    await once(npm, 'close');
    expect(output).toContain('ends in order');
    expect(isThere(pid)).toBe(false);
  });
});
