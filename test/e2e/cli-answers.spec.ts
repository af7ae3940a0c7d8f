import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  file,
  log,
  message,
  progress,
  reasoning,
  result,
  source,
  toolCall,
  toolResult,
  usage,
} from '../../src/index.js';
import { promise } from '../promises.js';
import { CLI, CommandProcess, quickCommand } from '../support/command-line.js';
import { eventuallyElsewhere } from '../support/conditions.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { type Call, ScriptedAgent } from '../support/scripted-agent.js';

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/;
const ALPHABET = 'The quick brown fox jumps over the lazy dog. ';

describeOnOneAdapter('The command line, asking a host on %s', (adapter) => {
  let agent: ScriptedAgent;
  let host: Host;
  let directory: string;

  beforeEach(async () => {
    agent = new ScriptedAgent();
    const options = { streams: { retryMs: 10 }, limits: { fileBytes: 1_000_000 } };
    host = await startAgent(adapter, agent.handler, options);
    directory = await mkdtemp(join(tmpdir(), 'cli-'));
  });
  afterEach(async () => {
    await host.close();
    await rm(directory, { recursive: true });
  });

  /** Starts the command with the URL of the host. */
  const start = (...parameters: string[]) => new CommandProcess(parameters, { AGENT_QUERY_URL: host.url });
  /** Executes it. */
  const run = (...parameters: string[]) => quickCommand(parameters, { AGENT_QUERY_URL: host.url });
  /** Lets the next call answer. */
  async function answer(number: number, ...envelopes: Parameters<Call['emit']>): Promise<Call> {
    const call = await agent.call(number);
    call.emit(...envelopes);
    call.finish();
    return call;
  }

  it(promise('cli.ask'), async () => {
    await writeFile(join(directory, 'a.csv'), 'a,b\n');
    await writeFile(join(directory, 'b.unknown'), Buffer.from([0, 255]));
    const url = ['--url', `${host.url}/`];
    const files = ['-f', join(directory, 'a.csv'), '--file', join(directory, 'b.unknown')];
    const kwargs = ['--kwargs', '{"a":[1,null]}'];
    // Options of the service may stand before and after the name of the command.
    const asked = quickCommand([...url, 'ask', 'Hello', 'you', ...files, '--session', 's', ...kwargs], {
      AGENT_QUERY_URL: 'http://127.0.0.1:1',
    });
    const { query } = await answer(1, message('Hi'));
    expect(await asked).toMatchObject({ stdout: 'Hi', code: 0 });
    expect(query.kwargs).toEqual({ a: [1, null], session_id: 's' });
    expect(query.parts).toMatchObject([
      { type: 'text', text: 'Hello you' },
      { type: 'file', name: 'a.csv', mimeType: 'text/csv', file: { size: 4 } },
      { type: 'file', name: 'b.unknown', mimeType: 'application/octet-stream', file: { size: 2 } },
    ]);
  });

  it.each([
    [[], 'Zwölf\n', [{ type: 'text', text: 'Zwölf\n' }]],
    [['-'], 'Zwölf\n', [{ type: 'text', text: 'Zwölf\n' }]],
    [['Why?'], 'ignored', [{ type: 'text', text: 'Why?' }]],
    [['--', '-f'], '', [{ type: 'text', text: '-f' }]],
    [
      ['Why?', '-f', '-'],
      'a file',
      [
        { type: 'text', text: 'Why?' },
        { type: 'file', name: 'stdin', mimeType: 'application/octet-stream', file: { size: 6 } },
      ],
    ],
    [['-f', '-'], 'a file', [{ type: 'file', name: 'stdin' }]],
  ])(promise('cli.ask', 'words and stdin: %j %j'), async (parameters, stdin, parts) => {
    const asked = quickCommand(['ask', ...parameters], { AGENT_QUERY_URL: host.url }, stdin);
    const { query } = await answer(1);
    expect((await asked).code).toBe(0);
    expect(query.parts).toMatchObject(parts);
    expect(query.parts).toHaveLength(parts.length);
  });

  it(promise('cli.outputs'), async () => {
    const asking = start('ask', 'Hello');
    const call = await agent.call(1);
    call.emit(message('The '));
    await asking.until('The ');
    call.emit(
      ...[reasoning('I '), reasoning('think.'), log('A \x1b[31mlog'), toolCall('1', 'search', { for: 'it' })],
      ...[toolResult('1', 'found'), toolResult('2', { why: 'none' }, { isError: true })],
      ...[source('https://example.org', { title: 'Example' }), { type: 'other', data: 1 }],
      ...[
        progress(1, { total: 2, unit: 'pages', label: 'reading' }),
        message('\ud83d'),
        message('\ude00 end\x1b[0m'),
      ],
      usage({ inputTokens: 3, outputTokens: 4 }),
    );
    call.finish();
    expect(await asking.end()).toEqual({
      stdout: 'The 😀 end\x1b[0m',
      stderr: `reasoning: I think.
log: A ␛[31mlog
tool: search {"for":"it"}
tool returned: found
tool failed: {"why":"none"}
source: Example https://example.org
reading: 1/2 pages
usage: 3 tokens in, 4 tokens out
`,
      code: 0,
    });
  });

  it(promise('cli.outputs', 'with --whole the answer when it is complete'), async () => {
    const asking = start('ask', 'Hello', '--whole');
    const call = await agent.call(1);
    call.emit(message('One, '), log('half'));
    await asking.until('log: half');
    expect(asking.stdout).toBe('');
    call.emit(message('two'));
    call.finish();
    expect((await asking.end()).stdout).toBe('One, two');
  });

  it(promise('cli.result'), async () => {
    const metadata = ['-m', 'team=sales', '--metadata', 'note=a=b'];
    const asked = run('ask', 'Hello', '--result', ...metadata);
    const { query } = await answer(1, message('Well'), result({ 'a b': ['é', null] }), log('x'));
    expect(await asked).toMatchObject({ stdout: '{"a b":["é",null]}\n', code: 0 });
    expect(query.metadata).toEqual({ team: 'sales', note: 'a=b' });
    const plain = run('ask', 'Hello', '--result');
    await answer(2, message('Well'));
    expect(await plain).toMatchObject({ stdout: '', stderr: 'The run has no structured result.\n', code: 0 });
    const shown = run('ask', 'Hello');
    await answer(3, message('Well'), result(1));
    expect(await shown).toMatchObject({ stdout: 'Well', stderr: 'result: 1\n' });
    const { stdout } = await run('runs', '--json', '-m', 'note=a=b', '-m', 'team=sales');
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toMatchObject([{ metadata: { team: 'sales', note: 'a=b' } }]);
    expect((await run('ask', 'Hello', '-m', 'team')).code).toBe(2);
  });

  it(promise('cli.resume'), async () => {
    const proxy = await CuttingProxy.before(host.url);
    try {
      const asking = new CommandProcess(['ask', 'Hello', '--url', proxy.url]);
      const call = await agent.call(1);
      call.emit(message(ALPHABET));
      await asking.until(ALPHABET);
      for (let cuts = 1; cuts <= 3; cuts += 1) {
        proxy.cutAfter(100);
        for (let sent = 0; sent < 10; sent += 1) call.emit(message(ALPHABET));
        await eventuallyElsewhere(() => asking.stdout === ALPHABET.repeat(1 + 10 * cuts));
      }
      call.finish();
      const { stdout, stderr, code } = await asking.end();
      expect([stdout, code]).toEqual([ALPHABET.repeat(31), 0]);
      expect(stderr.match(/Trying again in 0\.0 s\.\n/g)).toHaveLength(3);
      expect(proxy.cuts).toBe(3);
    } finally {
      await proxy.stop();
    }
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(promise('cli.interrupt', '%s'), async (signal, code) => {
    const asking = start('ask', 'Hello');
    const call = await agent.call(1);
    call.emit(message('Well'));
    await asking.until('Well');
    asking.child.kill(signal);
    const { stderr, ...rest } = await asking.end();
    expect(rest).toEqual({ stdout: 'Well', code });
    expect(stderr).toMatch(
      new RegExp(
        `^Cancelling the run\\. Ctrl-C again exits at once\\.\nThe run ${UUID.source} was cancelled\\.\n$`,
      ),
    );
    expect(call.context.signal.aborted).toBe(true);
  });

  it(promise('cli.interrupt', 'a second signal while the handler does not stop'), async () => {
    const stubborn = new ScriptedAgent(true);
    const other = await startAgent(adapter, stubborn.handler, { runs: { stopDeadlineMs: 60_000 } });
    const asking = new CommandProcess(['ask', 'Hello', '--url', other.url]);
    const call = await stubborn.call(1);
    asking.child.kill('SIGINT');
    await asking.until('Cancelling the run.');
    asking.child.kill('SIGINT');
    expect((await asking.end()).code).toBe(130);
    call.finish();
    await other.close();
  });

  it(promise('cli.reader'), async () => {
    const asking = start('ask', 'Hello');
    const call = await agent.call(1);
    call.emit(message('One\n'));
    await asking.until('One');
    asking.child.stdout!.destroy();
    call.emit(message('Two\n'));
    expect(await asking.end()).toMatchObject({ stderr: '', code: 0 });
    await call.stopped;
    expect(call.context.signal.aborted).toBe(true);
  });

  it(promise('cli.reader', 'a full disk cancels the run too, which is said'), async () => {
    if (process.platform !== 'linux') return;
    const full = await open('/dev/full', 'w');
    const withFullDisk = async (...parameters: string[]) => {
      const env = { PATH: process.env['PATH'], AGENT_QUERY_URL: host.url };
      const child = spawn(process.execPath, [CLI, ...parameters], {
        env,
        stdio: ['ignore', full.fd, 'pipe'],
      });
      let stderr = '';
      child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text));
      const [code] = (await once(child, 'close')) as [number];
      return { stderr, code };
    };
    const asked = withFullDisk('ask', 'Hello');
    const call = await agent.call(1);
    call.emit(message('One\n'), message('Two\n'));
    expect(await asked).toEqual({
      stderr: expect.stringMatching(
        /^error: Stdout cannot be written \(ENOSPC\)\.\nThe run \S+ was cancelled\.\n$/,
      ),
      code: 1,
    });
    expect(call.context.signal.aborted).toBe(true);
    expect(await withFullDisk('runs')).toEqual({
      stderr: 'error: Stdout cannot be written (ENOSPC).\n',
      code: 1,
    });
    await full.close();
  });

  it(promise('cli.json'), async () => {
    const asked = run('ask', 'Hello', '--json', '--session', 's');
    await answer(1, message('a\x9b'), { type: 'other', data: 1 });
    expect((await asked).stdout).toBe(
      '{"type":"message","data":{"content":"a\\u009b"}}\n{"type":"other","data":1}\n' +
        '{"type":"done","data":{"status":"completed"}}\n',
    );
    for (const list of [['runs'], ['sessions'], ['session', 's']]) {
      const { stdout } = await run(...list, '--json');
      expect(stdout.split('\n')).toHaveLength(2);
      expect(JSON.parse(stdout)).toBeInstanceOf(Object);
    }
  });

  it(promise('cli.detach'), async () => {
    const { stdout, stderr, code } = await run('ask', 'Hello', '--detach');
    expect([stderr, code]).toEqual(['', 0]);
    const id = stdout.trimEnd();
    expect(id).toMatch(UUID);
    await answer(1, message('One, '), message('two'));
    expect(await run('follow', id)).toEqual({ stdout: 'One, two', stderr: '', code: 0 });
    expect((await run('follow', id, '--after', '1')).stdout).toBe('two');
    expect(await run('follow', id, '--after', '3')).toEqual({ stdout: '', stderr: '', code: 0 });
  });

  it(promise('cli.detach', 'a signal to follow leaves the run'), async () => {
    const { stdout } = await run('ask', 'Hello', '--detach');
    const call = await agent.call(1);
    const following = start('follow', stdout.trimEnd());
    call.emit(message('One'));
    await following.until('One');
    following.child.kill('SIGINT');
    const { stderr, code } = await following.end();
    expect(code).toBe(130);
    expect(stderr).toBe(`Left the run, which may go on. To cancel it: nest-agent-query cancel ${stdout}`);
    expect(call.context.signal.aborted).toBe(false);
    call.finish();
    await call.stopped;
  });

  it(promise('cli.output-files'), async () => {
    const named = (name: string, content: string) =>
      file({ name, mimeType: 'text/plain', content: new Blob([content]) });
    const envelopes = () => [named('a.txt', 'one'), named('..', 'two'), named('.bashrc', 'three')];
    const output = join(directory, 'new/folder');
    for (const number of [1, 2]) {
      const asked = run('ask', 'Hello', '--output', output);
      await answer(number, ...envelopes());
      expect(await asked).toMatchObject({ stdout: '', code: 0 });
    }
    const saved = (await readdir(output)).sort();
    expect(saved).toEqual(['_', '_ (2)', '_bashrc', '_bashrc (2)', 'a (2).txt', 'a.txt']);
    expect(await readFile(join(output, 'a (2).txt'), 'utf8')).toBe('one');
    expect(await readFile(join(output, '_'), 'utf8')).toBe('two');
    await writeFile(join(directory, 'file'), '');
    const unsaved = run('ask', 'Hello', '--output', join(directory, 'file/below'));
    await answer(3, named('a.txt', 'one'), usage({ inputTokens: 3, outputTokens: 4 }));
    const { stderr, code } = await unsaved;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^file: .*\nNot all files were saved\. ENOTDIR: .*\nTo save its files: nest-agent-query follow \S+ --output DIR\nusage: 3 /,
    );
    const asked = run('ask', 'Hello');
    await answer(4, named('a.txt', 'one'));
    expect((await asked).stderr).toMatch(
      /^file: a\.txt \(text\/plain, 3 bytes\)\nTo save its files: nest-agent-query follow \S+ --output DIR\n$/,
    );
  });

  it(promise('cli.exit-codes', '1: the run failed or was cancelled'), async () => {
    const asked = run('ask', 'Hello');
    const call = await agent.call(1);
    call.emit(message('Half'));
    call.fail(new Error('secret'));
    const { stdout, stderr, code } = await asked;
    expect([stdout, code]).toEqual(['Half', 1]);
    expect(stderr).toMatch(/^The run \S+ failed: The agent failed\. .*\(handler_failed\)\n$/);
    const asking = start('ask', 'Hello');
    await agent.call(2);
    const [run2] = (await run('runs', '-n', '1', '--json')).stdout.split('\n');
    const { id } = JSON.parse(run2!) as { id: string };
    expect((await run('cancel', id)).stdout).toBe(`The run ${id} was cancelled.\n`);
    expect(await asking.end()).toEqual({ stdout: '', stderr: `The run ${id} was cancelled.\n`, code: 1 });
  });

  it(promise('cli.exit-codes', '3: the service refuses'), async () => {
    const id = '00000000-0000-4000-8000-000000000000';
    expect(await run('follow', id)).toMatchObject({ stdout: '', code: 3 });
    await writeFile(join(directory, 'large'), Buffer.alloc(1_000_001));
    const { stderr, code } = await run('ask', 'a', '-f', join(directory, 'large'));
    expect(code).toBe(3);
    expect(stderr).toMatch(/^error: .*\(limit_exceeded\)\n/);
    const { stderr: wrong, code: four } = await run('runs', '--path', 'no/such');
    expect([four, wrong]).toEqual([
      3,
      expect.stringMatching(
        /^error: The service answered 404: Cannot GET \/no\/such\?limit=50 \(refused\)\nDoes the service listen there\? --url/,
      ),
    ]);
  });

  it(promise('cli.session-changes'), async () => {
    const ask = async (count: number, ...args: string[]) => {
      const asked = run('ask', ...args);
      await answer(count, message(`Answer ${count}.`));
      return asked;
    };
    await ask(1, 'One', '--session', 's');
    expect(await run('fork', 's', '1', '--as', 'f')).toEqual({ stdout: 'f\n', stderr: '', code: 0 });
    expect((await ask(2, 'Other', '--session', 's', '--after-turn', '0')).stdout).toBe('Answer 2.');
    const turns = await Promise.all(['s', 'f'].map((id) => run('session', id, '--json')));
    expect(turns.map(({ stdout }) => (JSON.parse(stdout) as { text: string }).text)).toEqual([
      'Answer 2.',
      'Answer 1.',
    ]);
    const made = JSON.parse((await run('fork', 's', '0', '--json')).stdout) as object;
    expect(made).toMatchObject({ turns: 0 });
    expect(await run('fork', 's', '1', '--as', 'f')).toMatchObject({ stdout: '', code: 3 });
    expect(await run('fork', 's', 'x')).toMatchObject({ stdout: '', code: 2 });
  });

  it(promise('cli.manage'), async () => {
    expect(await run('runs')).toEqual({ stdout: '', stderr: 'There are no runs.\n', code: 0 });
    const asked = run('ask', 'What is\nthis?', '--session', 's');
    await answer(1, message('An \x1b[31manswer.'));
    await asked;
    const TIME = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`;
    const runs = await run('runs');
    expect(runs.stdout).toMatch(
      new RegExp(
        `^RUN {35}STATUS {5}CREATED {14}TOOK +EVENTS  SESSION\n${UUID.source}  completed  ${TIME}  (\\d+ ms|\\d+\\.\\d s) +2 {7}s\n$`,
      ),
    );
    expect((await run('sessions')).stdout).toMatch(
      new RegExp(`^SESSION  TURNS  LAST USED {12}STATE  TITLE\ns {8}1 {6}${TIME}  - {6}What is this\\?\n$`),
    );
    expect((await run('session', 's')).stdout).toMatch(
      new RegExp(
        `^--- ${TIME}, run ${UUID.source}, completed\n> What is\n> this\\?\n\nAn ␛\\[31manswer\\.\n\n$`,
      ),
    );
    expect(await run('erase', 's', '--yes')).toEqual({
      stdout: 'The session "s" was erased.\n',
      stderr: '',
      code: 0,
    });
    expect(await run('session', 's')).toMatchObject({ stdout: '', code: 3 });
    expect((await run('runs')).stdout).toBe('');
  });
});
