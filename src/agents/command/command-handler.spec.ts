import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Logger } from '@nestjs/common';
import { contextOf } from '../../../test/support/handler-context.js';
import { anyRuns } from '../../../test/support/child-processes.js';
import { eventuallyElsewhere } from '../../../test/support/conditions.js';
import { IS_LONG } from '../../../test/support/long-form.js';
import { OperatorLog } from '../../../test/support/operator-log.js';
import type { Envelope, Query, QueryContext } from '../../query/index.js';
import { type CommandOptions, commandHandler } from './index.js';

const PATH = process.env['PATH'];

function queryOf(text: string): Query {
  return { parts: [{ type: 'text', text }], kwargs: {} };
}

describe('The agent command', () => {
  let directory: string;
  let log: OperatorLog;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'command-'));
    log = new OperatorLog();
    Logger.overrideLogger(log);
  });

  afterEach(async () => {
    Logger.overrideLogger(true);
    await rm(directory, { recursive: true });
  });

  const handlerOf = (command: string, options: Partial<CommandOptions> = {}) =>
    commandHandler({ command, cwd: directory, directory, env: { PATH }, ...options });

  /** Starts a command. Its envelopes are those that have been taken. */
  function start(command: string, options?: Partial<CommandOptions>, context?: Partial<QueryContext>) {
    return execute(handlerOf(command, options), queryOf('hello'), context);
  }

  function execute(
    handler: ReturnType<typeof handlerOf>,
    query: Query,
    { signal, ...context }: Partial<QueryContext> = {},
  ) {
    const controller = new AbortController();
    const envelopes: Envelope[] = [];
    const iterable = handler.handle(
      query,
      contextOf({ signal: signal ?? controller.signal, ...context }),
    ) as AsyncGenerator<Envelope>;
    const take = async () => {
      for await (const envelope of iterable) envelopes.push(envelope);
    };
    return { envelopes, iterable, take, abort: () => controller.abort() };
  }

  async function textOf(command: string, options?: Partial<CommandOptions>): Promise<string> {
    const { envelopes, take } = start(command, options);
    await take();
    return envelopes.map(({ data }) => (data as { content: string }).content).join('');
  }

  async function script(name: string, text: string): Promise<string> {
    await writeFile(join(directory, name), text);
    return name;
  }

  /** Waits for a number that a program writes to a file of the directory. */
  async function numberIn(name: string): Promise<number> {
    const path = join(directory, name);
    await eventuallyElsewhere(() => existsSync(path) && readFileSync(path, 'utf8').endsWith('\n'));
    return Number(readFileSync(path, 'utf8'));
  }

  it('gives the query to the program as one line of JSON, and closes its input', async () => {
    const session = {
      id: 's',
      turns: [],
      olderTurns: 2,
      file: async () => Promise.reject(new Error('not read')),
    };
    const { envelopes, take } = start('cat', {}, { runId: 'r', owner: 'ann', session });
    await take();
    const { content } = envelopes[0]!.data as { content: string };
    expect(envelopes).toHaveLength(1);
    expect(content.endsWith('}\n')).toBe(true);
    expect(JSON.parse(content)).toEqual({
      runId: 'r',
      owner: 'ann',
      parts: [{ type: 'text', text: 'hello' }],
      kwargs: {},
      session: { id: 's', turns: [], olderTurns: 2 },
      resumed: null,
    });
  });

  it('lets the program read files by their paths, and removes them after it', async () => {
    const big = new Uint8Array(3_000_000).fill(0x61);
    const file = (name: string, content: Uint8Array<ArrayBuffer>) => ({
      type: 'file' as const,
      name,
      mimeType: 'text/plain',
      sha256: '00',
      file: new File([content], name),
    });
    const query = { parts: [file('$(id) a.TXT', big), file('..', new Uint8Array(3))], kwargs: {} };
    const command = await script(
      'read.py',
      `import json, os, sys
query = json.loads(sys.stdin.readline())
for part in query["parts"]:
    mode = oct(os.stat(os.path.dirname(part["path"])).st_mode & 0o777)
    print(part["name"], part["size"], len(open(part["path"], "rb").read()), mode, part["path"], sep="|")
open(os.path.dirname(part["path"]) + "/own", "w")
`,
    );
    const { envelopes, take } = execute(handlerOf(`python3 ${command}`), query);
    await take();
    const lines = envelopes.map(({ data }) => (data as { content: string }).content.trim().split('|'));
    const paths = lines.map((line) => line.pop()!);
    expect(lines).toEqual([
      ['$(id) a.TXT', '3000000', '3000000', '0o700'],
      ['..', '3', '3', '0o700'],
    ]);
    expect(paths.map((path) => path.slice(dirname(path).length))).toEqual(['/1.TXT', '/2']);
    expect(await readdir(directory)).toEqual(['read.py']);
  });

  it('answers if the program reads nothing of a large input', async () => {
    const handler = handlerOf('echo done');
    const { envelopes, take } = execute(handler, queryOf('x'.repeat(5_000_000)));
    await take();
    expect(envelopes).toEqual([{ type: 'message', data: { content: 'done\n' } }]);
  });

  it('executes pipelines, with the variables that it is given and no others', async () => {
    expect(await textOf('env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= | sort', { env: { PATH, B: '1' } })).toBe(
      `B=1\nPATH=${PATH}\n`,
    );
  });

  it.each([
    [
      'echo a >&2; exit 3',
      'The program ended with the exit code 3. The last lines of its standard error:\na',
    ],
    ['kill -9 $$', 'The program was ended by SIGKILL. It has written nothing to its standard error.'],
    ['no-such-program 2>/dev/null', /exit code 127, which a shell gives for a program that it does not find/],
    ['sh -c "kill -9 \\$\\$" 2>/dev/null; exit $?', /exit code 137, which a shell gives .* signal 9 ended/],
  ])('fails after %j', async (command, message) => {
    const { take, envelopes } = start(`echo first; ${command}`);
    await expect(take()).rejects.toThrow(message);
    expect(envelopes).toEqual([{ type: 'message', data: { content: 'first\n' } }]);
  });

  it('writes the standard error to the log, line by line, cut and harmless', async () => {
    const command = await script(
      'log.py',
      `import sys
sys.stdout.write("answer")
sys.stderr.buffer.write(b"one\\r\\n\\x1b[31mred\\ttab\\xff\\n" + b"y" * 3000000 + b"\\nlast")
`,
    );
    expect(await textOf(`python3 ${command}`)).toBe('answer');
    const lines = log.lines.map((line) => line.replace(/ Command$/, ''));
    expect(lines).toEqual([
      'log Run run: one',
      'log Run run: \\u001b[31mred\ttab\ufffd',
      `log Run run: ${'y'.repeat(1000)}…`,
      'log Run run: last',
    ]);
  });

  it('does not wait for what the program leaves behind, and ends that', async () => {
    const text = await textOf('sleep 1000 & echo $!');
    expect(text).toMatch(/^\d+\n$/);
    expect(await anyRuns([Number(text)])).toBe(false);
  });

  it('ends what the program leaves behind without its outputs', async () => {
    const text = await textOf('sleep 1000 >/dev/null 2>&1 & echo $!');
    expect(await anyRuns([Number(text)])).toBe(false);
  });

  it('reads all that was written before the program ended', async () => {
    const { iterable } = start(
      `python3 -c 'print("x" * 99 + "\\n" * 1, end=""); print("y\\n" * 100000, end="")'`,
    );
    let count = 0;
    for await (const { data } of iterable) {
      if (count++ === 0) expect((data as { content: string }).content).toHaveLength(100);
    }
    expect(count).toBe(100_001);
  });

  const STUBBORN = `import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: print("ignored", flush=True))
child = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 1000; done"])
print(os.getpid(), child.pid, flush=True)
while True: time.sleep(1000)
`;

  it('kills a program and its children that ignore SIGTERM, within the deadline', async () => {
    const { iterable, abort } = start(`python3 ${await script('stubborn.py', STUBBORN)} | cat`, {
      stopDeadlineMs: 2000,
    });
    const { value } = (await iterable.next()) as { value: Envelope };
    const pids = (value.data as { content: string }).content.trim().split(' ').map(Number);
    expect([pids.length, await anyRuns(pids)]).toEqual([2, true]);
    const next = iterable.next();
    const began = performance.now();
    abort();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(performance.now() - began).toBeLessThan(2000);
    expect(await anyRuns(pids)).toBe(false);
  });

  it('lets a program stop by itself behind a shell that stops at once', async () => {
    const program = await script(
      'orderly.py',
      // Python executes a handler between two of its instructions, so one that is told just before a long wait would not stop.
      `import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("ready", flush=True)
signal.sigwait([signal.SIGTERM])
os.write(1, b"x" * 1000000)
open("stopped", "w").close()
`,
    );
    const { iterable, abort } = start(`python3 ${program}; true`, { stopDeadlineMs: 60_000 });
    await iterable.next();
    abort();
    // The runner does not take anything after a cancel.
    await iterable.return(undefined);
    expect(existsSync(join(directory, 'stopped'))).toBe(true);
  });

  const ENDLESS = `import os, select
os.set_blocking(1, False)
written = 0
while True:
    if not select.select([], [1], [], 1.0)[1]: break
    try: written += os.write(1, b"x" * 4095 + b"\\n")
    except BlockingIOError: pass
open("blocked", "w").write(str(written) + "\\n")
while True: select.select([], [], [], 1000)
`;

  it('lets the program wait when nobody takes its output', async () => {
    const { iterable } = start(`python3 ${await script('endless.py', ENDLESS)}`, { stopDeadlineMs: 0 });
    await iterable.next();
    const written = await numberIn('blocked');
    expect(written).toBeGreaterThan(4096);
    expect(written).toBeLessThan(2 * 1024 * 1024);
    await iterable.return(undefined);
  });

  it('executes as many programs at once as may, and the others in their order', async () => {
    const handler = handlerOf('echo + >>events; until [ -e gate ]; do sleep 0.02; done; echo - >>events', {
      processes: 2,
    });
    const count = IS_LONG ? 20 : 6;
    const runs = Array.from({ length: count }, () => execute(handler, queryOf('')));
    const taken = runs.map(({ take }) => take());
    const events = () => readFileSync(join(directory, 'events'), 'utf8').trim().split('\n');
    await eventuallyElsewhere(() => existsSync(join(directory, 'events')) && events().length === 2);
    const waiting = { type: 'log', data: { message: 'Waiting until another query has ended' } };
    expect(runs.map(({ envelopes }) => envelopes)).toEqual([
      [],
      [],
      ...Array.from({ length: count - 2 }, () => [waiting]),
    ]);
    runs[4]!.abort();
    await taken[4];
    await writeFile(join(directory, 'gate'), '');
    await Promise.all(taken);
    expect(events()).toHaveLength(2 * (count - 1));
    let executing = 0;
    const counts = events().map((event) => (executing += event === '+' ? 1 : -1));
    expect(Math.max(...counts)).toBe(2);
    expect(runs.every(({ envelopes }) => envelopes.length <= 1)).toBe(true);
  });

  it('starts nothing for a run that was cancelled before', async () => {
    const { take, abort, envelopes } = start('touch started');
    abort();
    await take();
    expect([envelopes, existsSync(join(directory, 'started'))]).toEqual([[], false]);
  });

  it('fails if the shell cannot be started', async () => {
    const { take } = start('cat', { cwd: join(directory, 'nowhere') });
    await expect(take()).rejects.toThrow('ENOENT');
    expect(statSync(directory).isDirectory()).toBe(true);
  });

  it.each([
    [{ command: ' ' }, TypeError, 'CommandOptions.command must be a text that is not empty.'],
    [
      { processes: 0 },
      RangeError,
      'CommandOptions.processes is 0; it must be a whole number from 1 to 1000000.',
    ],
    [{ stopDeadlineMs: -1 }, RangeError, /^CommandOptions.stopDeadlineMs is -1; it must be /],
    [{ lineLength: 0.5 }, RangeError, /^CommandOptions.lineLength is 0.5; it must be /],
  ])('refuses the options %j', (options, type, message) => {
    const make = () => commandHandler({ command: 'cat', ...options });
    expect(make).toThrow(type);
    expect(make).toThrow(message);
  });
});
