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

/** A script of npm, in a group of processes of its own, as a shell of a terminal makes it. */
class NpmScript {
  readonly npm: ChildProcess;
  readonly closed: Promise<unknown>;
  output = '';

  constructor(cwd: string, script: string, variables: Record<string, string> = {}) {
    const env = { PATH: process.env['PATH'], HOME: cwd, ...variables };
    this.npm = spawn('npm', ['run', script], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    this.closed = once(this.npm, 'close');
    for (const stream of [this.npm.stdout!, this.npm.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => (this.output += text));
  }

  /** Waits for an output, and returns its first group. */
  async until(expression: RegExp): Promise<string> {
    await eventuallyElsewhere(() => expression.test(this.output));
    return expression.exec(this.output)![1]!;
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function inDirectory(test: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'npm-start-'));
  await test(directory);
  await rm(directory, { recursive: true });
}

const endsService = (end: (npm: ChildProcess) => void) => () =>
  inDirectory(async (directory) => {
    const agent = join(directory, 'slow.mjs');
    await writeFile(agent, SLOW);
    const variables = {
      HOME: directory,
      AGENT: agent,
      PORT: '0',
      DATABASE_URL: 'memory:',
      LOG_FORMAT: 'text',
    };
    const script = new NpmScript(ROOT, 'start', variables);
    const url = await script.until(/listens on (http:\S+)/);
    const answer = await ask(url);
    await answer.until('one ');
    end(script.npm);
    expect((await answer.answer()).text).toBe('one two');
    await script.closed;
    await expect(fetch(url)).rejects.toThrow();
    expect(script.output).not.toContain('second signal');
  });

const endsApplication = (name: string) =>
  inDirectory(async (directory) => {
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
    const script = new NpmScript(directory, name);
    const pid = Number(await script.until(/started (\d+)/));
    script.npm.kill('SIGTERM');
    await script.closed;
    expect(script.output).toContain('ends in order');
    expect(isThere(pid)).toBe(false);
  });

describe('npm start', () => {
  const OF_CLONE = 'ends the service of a clone in order, and npm after it';
  const interrupted = 'Ctrl-C of a terminal, which all processes get';
  it(
    `${OF_CLONE}: SIGTERM of npm`,
    endsService((npm) => npm.kill('SIGTERM')),
  );
  it(
    `${OF_CLONE}: ${interrupted}`,
    endsService(({ pid }) => process.kill(-pid!, 'SIGINT')),
  );
  // npm passes on both signals in the same way, and the service treats them alike.
  itInLongForm(
    `${OF_CLONE}: SIGINT of npm`,
    endsService((npm) => npm.kill('SIGINT')),
  );
  // At once, because each waits for a second. Those of the clone are not: each may build it.
  it.concurrent.each(['start', 'start:prod'])('ends a created application: npm run %s', endsApplication);
});
