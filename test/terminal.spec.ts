import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { log, message, progress } from '../src/index.js';
import { ask } from './support/client.js';
import { CLI } from './support/command-line.js';
import { eventuallyElsewhere } from './support/conditions.js';
import { type Host, startAgent } from './support/host.js';
import { ScriptedAgent } from './support/scripted-agent.js';

// The program `script` of util-linux makes a terminal for another program.
const describeWithTerminal =
  process.platform === 'linux' && existsSync('/usr/bin/script') ? describe : describe.skip;

describeWithTerminal('The command line on a terminal', () => {
  let agent: ScriptedAgent;
  let host: Host;
  let terminal: ChildProcess;
  let screen: string;
  let ended: Promise<[number]>;
  let directory: string;

  /** Executes the command on a terminal of its own. */
  function start(parameters: string[], variables: Record<string, string> = {}): void {
    const words = [process.execPath, CLI, ...parameters].map((word) => `'${word}'`).join(' ');
    const env = { PATH: process.env['PATH'], TERM: 'xterm-256color', SHELL: '/bin/sh', ...variables };
    terminal = spawn('/usr/bin/script', ['-qefc', words, '/dev/null'], {
      env: { ...env, AGENT_QUERY_URL: host.url },
    });
    screen = '';
    ended = once(terminal, 'close') as Promise<[number]>;
    terminal.stdout!.setEncoding('utf8').on('data', (text: string) => (screen += text));
  }
  const type = (keys: string) => terminal.stdin!.write(keys);
  async function until(text: string): Promise<void> {
    await eventuallyElsewhere(() => screen.includes(text) || terminal.exitCode !== null);
    expect(screen).toContain(text);
  }

  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startAgent('fastify', agent.handler);
    directory = await mkdtemp(join(tmpdir(), 'cli-'));
  });
  afterEach(async () => {
    terminal.kill();
    await ended;
    await host.close();
    await rm(directory, { recursive: true });
  });

  it('shows what is awaited, then the answer without control characters, and dimmed notes on lines of their own', async () => {
    start(['ask', 'Hello']);
    await until('Waiting for the answer');
    const call = await agent.call(1);
    call.emit(progress(1, { total: 2, unit: 'pages', label: 'reading' }));
    await until('██████████░░░░░░░░░░ 50% reading: 1/2 pages');
    call.emit(message('The \x1b[2Janswer'), log('half'));
    await until('half');
    call.emit(message(' ends'));
    call.finish();
    expect(await ended).toEqual([0, null]);
    // The line of what is awaited is gone, and the cursor is shown again.
    const [, shown] = screen.split('\x1b[?25h').slice(-2);
    expect(shown).toContain('The ␛[2Janswer\r\n\x1b[2mlog: half\x1b[22m\r\n ends\r\n');
  });

  it('has no colours with NO_COLOR, and nothing that moves on a terminal that cannot do it', async () => {
    start(['ask', 'Hello'], { NO_COLOR: '1', TERM: 'dumb' });
    const call = await agent.call(1);
    call.emit(log('Thinking'), message('Yes'));
    call.finish();
    await ended;
    expect(screen).toBe('log: Thinking\r\nYes\r\n');
  });

  it('shows how far an upload has come', async () => {
    const path = join(directory, 'large.bin');
    await writeFile(path, Buffer.alloc(48 * 1024 * 1024));
    start(['ask', 'Hello', '-f', path]);
    (await agent.call(1)).finish();
    expect(await ended).toEqual([0, null]);
    expect(screen).toMatch(/Sending [\d.]+ \w+ of 64\.0 MiB [█░]{20} \d+%/);
  });

  it('keeps a line of the answer that is not ended when progress comes', async () => {
    start(['ask', 'Hello']);
    const call = await agent.call(1);
    call.emit(message('It begins '), progress(1, { total: 2, label: 'reading' }));
    await until('50% reading: 1/2');
    call.emit(message('and ends.'));
    call.finish();
    expect(await ended).toEqual([0, null]);
    expect(screen).toContain('It begins \r\n');
    expect(screen).toContain('and ends.\r\n');
  });

  it('cuts what is awaited to one line, also with characters of two columns', async () => {
    start(['ask', 'Hello']);
    const call = await agent.call(1);
    call.emit(progress(1, { total: 2, label: '進'.repeat(70) }));
    await until(`██████████░░░░░░░░░░ 50% ${'進'.repeat(25)}…`);
    call.finish();
    expect(await ended).toEqual([0, null]);
  });

  it('shows no control character for a line end that comes in two pieces', async () => {
    start(['ask', 'Hello'], { TERM: 'dumb' });
    const call = await agent.call(1);
    call.emit(message('One\r'), message('\nTwo\r'), message('Three\r'));
    call.finish();
    expect(await ended).toEqual([0, null]);
    expect(screen).toBe('One\r\nTwo␍Three␍\r\n');
  });

  it('cancels the run at Ctrl-C', async () => {
    start(['ask', 'Hello']);
    const call = await agent.call(1);
    call.emit(message('Well'));
    await until('Well');
    type('\x03');
    expect(await ended).toEqual([130, null]);
    expect(screen).toMatch(
      /Cancelling the run\. Ctrl-C again exits at once\.[^]*The run \S+ was cancelled\./,
    );
    expect(call.context.signal.aborted).toBe(true);
  });

  it('gives up an upload at Ctrl-C, and shows the cursor again', async () => {
    const path = join(directory, 'large.bin');
    await writeFile(path, Buffer.alloc(48 * 1024 * 1024));
    const deaf = createServer().listen(0, '127.0.0.1');
    const connected = once(deaf, 'connection') as Promise<[Socket]>;
    await once(deaf, 'listening');
    const { port } = deaf.address() as AddressInfo;
    start(['ask', 'Hello', '-f', path, '--url', `http://127.0.0.1:${port}`]);
    const [socket] = await connected;
    await until('Sending');
    type('\x03');
    expect(await ended).toEqual([130, null]);
    expect(screen).toContain('The query was not sent, so there is no run.');
    expect(screen.lastIndexOf('\x1b[?25h')).toBeGreaterThan(screen.lastIndexOf('\x1b[?25l'));
    socket.destroy();
    deaf.close();
  });

  it('ends at Ctrl-C while nobody writes a FIFO that is to be sent', async () => {
    const fifo = join(directory, 'fifo');
    execFileSync('mkfifo', [fifo]);
    start(['ask', 'Hello', '-f', fifo]);
    await until('Waiting for the answer');
    type('\x03');
    expect(await ended).toEqual([130, null]);
    expect(screen).toContain('The query was not sent, so there is no run.');
  });

  it('asks before it erases a session', async () => {
    const asked = ask(host.url, 'Hello', { kwargs: { session_id: 's' } });
    (await agent.call(1)).finish();
    await (await asked).whole();
    for (const [keys, sentence, code] of [
      ['n\r', 'Nothing was erased.\r\n', 0],
      // Ctrl-D and Ctrl-C.
      ['\x04', '\r\nNothing was erased.\r\n', 0],
      ['\x03', '\r\nNothing was erased.\r\n', 130],
      ['y\r', 'The session "s" was erased.\r\n', 0],
    ] as const) {
      start(['erase', 's']);
      await until('[y/N] ');
      type(keys);
      expect(await ended).toEqual([code, null]);
      expect(screen).toContain(sentence);
      expect(screen).not.toContain('error');
    }
  });
});

describe('The completion of bash', () => {
  const CASES = [
    [['se'], ['sessions', 'session', 'serve']],
    [['keys', ''], ['create']],
    [['ask', '--se'], ['--session']],
    [['ask', '--ur'], ['--url']],
    [['--url', 'http://127.0.0.1:3000', 'canc'], ['cancel']],
    [
      ['serve', '--database', 'memory:', '--max-running'],
      ['--max-running', '--max-running-per-owner'],
    ],
    [['serve', '--ur'], []],
    [
      ['runs', '--status', 'c'],
      ['completed', 'cancelled'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    // Bash itself proposes files then.
    [['ask', '-f', 'READ'], []],
    [['serve', './'], []],
    [['ask', '--', '--se'], []],
  ];
  let proposals: string[][];

  // One shell and one script for all, as for a user: each case is one completion in it.
  beforeAll(() => {
    const completions = CASES.map(([words]) => {
      const list = ['nest-agent-query', ...words!].map((word) => `'${word}'`).join(' ');
      return `
        COMP_WORDS=(${list}); COMP_CWORD=${words!.length}; COMPREPLY=()
        _nest_agent_query
        printf '%s\\n' "\${COMPREPLY[@]}"
        printf '\\0'`;
    });
    const program = `
      nest-agent-query() { '${process.execPath}' '${CLI}' "$@"; }
      eval "$(nest-agent-query completion bash)"
      ${completions.join('')}`;
    const output = execFileSync('bash', ['--norc', '-c', program], { encoding: 'utf8' });
    proposals = output.split('\0').map((lines) => lines.split('\n').filter(Boolean));
  });

  it.each(CASES.map(([words, expected], index) => [words, expected, index] as const))(
    'of %j is %j',
    (_, expected, index) => {
      expect(proposals[index]).toEqual(expected);
    },
  );
});

const describeWithFish = existsSync('/usr/bin/fish') ? describe : describe.skip;

describeWithFish('The completion of fish', () => {
  it('proposes commands with what they do, and options', () => {
    const program = `
      function nest-agent-query; '${process.execPath}' '${CLI}' $argv; end
      nest-agent-query completion fish | source
      complete -C 'nest-agent-query can'
      complete -C 'nest-agent-query ask --sess'`;
    const env = { PATH: process.env['PATH'], HOME: tmpdir() };
    const output = execFileSync('/usr/bin/fish', ['--no-config', '-c', program], { encoding: 'utf8', env });
    expect(output.split('\n').filter(Boolean)).toEqual([
      'cancel\tCancel a run.',
      '--session\tthe conversation that the query belongs to',
    ]);
  });
});
