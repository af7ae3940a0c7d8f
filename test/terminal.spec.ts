import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentQueryClient } from 'nest-agent-query-client';
import { log, message, progress, suggestions } from '../src/index.js';
import { ask } from './support/client.js';
import { CLI, quickCommand } from './support/command-line.js';
import { type Host, startAgent } from './support/host.js';
import { IS_LONG } from './support/long-form.js';
import { ScriptedAgent } from './support/scripted-agent.js';
import { describeWithTerminal, Terminal } from './support/terminal.js';

describeWithTerminal('The command line on a terminal', () => {
  let agent: ScriptedAgent;
  let host: Host;
  let terminal: Terminal;
  let directory: string;

  /** Executes the command on a terminal of its own. */
  function start(parameters: string[], variables: Record<string, string> = {}): void {
    terminal = new Terminal(parameters, { AGENT_QUERY_URL: host.url, ...variables });
  }

  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startAgent('fastify', agent.handler);
    directory = await mkdtemp(join(tmpdir(), 'cli-'));
  });
  afterEach(async () => {
    await terminal.stop();
    await host.close();
    await rm(directory, { recursive: true });
  });

  it('shows what is awaited, then the answer without control characters, and dimmed notes on lines of their own', async () => {
    start(['ask', 'Hello']);
    await terminal.until('Waiting for the answer');
    const call = await agent.call(1);
    call.emit(progress(1, { total: 2, unit: 'pages', label: 'reading' }));
    await terminal.until('██████████░░░░░░░░░░ 50% reading: 1/2 pages');
    call.emit(message('The \x1b[2Janswer'), log('half'));
    await terminal.until('half');
    call.emit(message(' ends'));
    call.finish();
    expect(await terminal.ended).toEqual([0, null]);
    // The line of what is awaited is gone, and the cursor is shown again.
    const [, shown] = terminal.screen.split('\x1b[?25h').slice(-2);
    expect(shown).toContain('The ␛[2Janswer\r\n\x1b[2mlog: half\x1b[22m\r\n ends\r\n');
  });

  it('has no colours with NO_COLOR, and nothing that moves on a terminal that cannot do it', async () => {
    start(['ask', 'Hello'], { NO_COLOR: '1', TERM: 'dumb' });
    const call = await agent.call(1);
    call.emit(log('Thinking'), message('Yes'));
    call.finish();
    await terminal.ended;
    const [run] = (await new AgentQueryClient({ baseUrl: host.url }).runs()).runs;
    expect(terminal.screen).toBe(
      `log: Thinking\r\nYes\r\nTo read it again: nest-agent-query follow ${run!.id}\r\n`,
    );
  });

  it('shows how far an upload has come', async () => {
    const path = join(directory, 'large.bin');
    await writeFile(path, Buffer.alloc(48 * 1024 * 1024));
    start(['ask', 'Hello', '-f', path]);
    (await agent.call(1)).finish();
    expect(await terminal.ended).toEqual([0, null]);
    expect(terminal.screen).toMatch(/Sending [\d.]+ \w+ of 48\.0 MiB [█░]{20} \d+%/);
  });

  it('keeps a line of the answer that is not ended when progress comes', async () => {
    start(['ask', 'Hello']);
    const call = await agent.call(1);
    call.emit(message('It begins '), progress(1, { total: 2, label: 'reading' }));
    await terminal.until('50% reading: 1/2');
    call.emit(message('and ends.'));
    call.finish();
    expect(await terminal.ended).toEqual([0, null]);
    expect(terminal.screen).toContain('It begins \r\n');
    expect(terminal.screen).toContain('and ends.\r\n');
  });

  it('cuts what is awaited to one line, also with characters of two columns', async () => {
    start(['ask', 'Hello']);
    const call = await agent.call(1);
    call.emit(progress(1, { total: 2, label: '進'.repeat(70) }));
    await terminal.until(`██████████░░░░░░░░░░ 50% ${'進'.repeat(25)}…`);
    call.finish();
    expect(await terminal.ended).toEqual([0, null]);
  });

  it('shows no control character for a line end that comes in two pieces', async () => {
    start(['ask', 'Hello'], { TERM: 'dumb' });
    const call = await agent.call(1);
    call.emit(message('One\r'), message('\nTwo\r'), message('Three\r'));
    call.finish();
    expect(await terminal.ended).toEqual([0, null]);
    expect(terminal.screen).toMatch(/^One\r\nTwo␍Three␍\r\nTo read it again: /);
  });

  it('lists what the agent suggests after the answer', async () => {
    start(['ask', 'Hello'], { TERM: 'dumb' });
    const call = await agent.call(1);
    const files = [{ name: 'a\x1b.csv', mimeType: 'text/csv', base64: '' }];
    call.emit(
      message('Yes'),
      suggestions([{ text: 'how many rows', label: 'Count', files }, { text: 'page 3' }]),
    );
    call.finish();
    expect(await terminal.ended).toEqual([0, null]);
    expect(terminal.screen).toMatch(
      /^Yes\r\nYou can ask:\r\n {2}1\. Count: how many rows \[a␛\.csv\]\r\n {2}2\. page 3\r\nTo read it again: /,
    );
  });

  it('shows ids whole in lists, and leaves out what there is no room for', async () => {
    const session = 'a-conversation-with-a-long-name-0123456789';
    const asked = ask(host.url, 'Hello', { kwargs: { session_id: session } });
    (await agent.call(1)).finish();
    await (await asked).whole();
    const [run] = (await new AgentQueryClient({ baseUrl: host.url }).runs()).runs;
    start(['runs']);
    expect(await terminal.ended).toEqual([0, null]);
    expect(terminal.screen).toBe(`RUN${' '.repeat(35)}SESSION\r\n${run!.id}  ${session}\r\n`);
    await terminal.stop();
    start(['sessions']);
    expect(await terminal.ended).toEqual([0, null]);
    expect(terminal.screen).toMatch(new RegExp(`^SESSION .* TITLE\r\n${session} .* Hello\r\n$`));
  });

  it('cancels the run at Ctrl-C', async () => {
    start(['ask', 'Hello']);
    const call = await agent.call(1);
    call.emit(message('Well'));
    await terminal.until('Well');
    terminal.type('\x03');
    expect(await terminal.ended).toEqual([130, null]);
    expect(terminal.screen).toMatch(
      /Cancelling the run\. Ctrl-C again exits at once\.[^]*The run \S+ was cancelled\./,
    );
    expect(call.context.signal.aborted).toBe(true);
  });

  it('gives up an upload at Ctrl-C, and shows the cursor again', async () => {
    const path = join(directory, 'large.bin');
    await writeFile(path, Buffer.alloc(7 * 1024 * 1024));
    const deaf = createServer().listen(0, '127.0.0.1');
    const connected = once(deaf, 'connection') as Promise<[Socket]>;
    await once(deaf, 'listening');
    const { port } = deaf.address() as AddressInfo;
    start(['ask', 'Hello', '-f', path, '--url', `http://127.0.0.1:${port}`]);
    const [socket] = await connected;
    await terminal.until('Sending');
    terminal.type('\x03');
    expect(await terminal.ended).toEqual([130, null]);
    expect(terminal.screen).toContain('The query was not sent, so there is no run.');
    expect(terminal.screen.lastIndexOf('\x1b[?25h')).toBeGreaterThan(
      terminal.screen.lastIndexOf('\x1b[?25l'),
    );
    socket.destroy();
    deaf.close();
  });

  it('ends at Ctrl-C while nobody writes a FIFO that is to be sent', async () => {
    const fifo = join(directory, 'fifo');
    execFileSync('mkfifo', [fifo]);
    start(['ask', 'Hello', '-f', fifo]);
    await terminal.until('Waiting for the answer');
    terminal.type('\x03');
    expect(await terminal.ended).toEqual([130, null]);
    expect(terminal.screen).toContain('The query was not sent, so there is no run.');
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
      await terminal.until('[y/N] ');
      terminal.type(keys);
      expect(await terminal.ended).toEqual([code, null]);
      expect(terminal.screen).toContain(sentence);
      expect(terminal.screen).not.toContain('error');
    }
  });
});

describe('The completion', () => {
  const CASES = [
    [['se'], ['sessions', 'session', 'serve']],
    [
      ['keys', ''],
      ['create', 'list'],
    ],
    // Bash itself proposes files then.
    [['ask', '-f', 'READ'], []],
    [['ask', '--se'], ['--session']],
    [['ask', '--ur'], ['--url']],
    [['an'], ['answer']],
    [
      ['answer', 'some-run', '--a'],
      ['--approve', '--arguments', '--agent'],
    ],
    [['runs', '--status', 'in'], ['input_required']],
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
    [['serve', './'], []],
    [['ask', '--', '--se'], []],
  ] as const;

  it.each(CASES)('of %j is %j', async (words, expected) => {
    const { stdout } = await quickCommand(['complete', '--', ...words]);
    expect(stdout.split('\n').flatMap((line) => line.split('\t', 1)[0] || [])).toEqual(expected);
  });

  // Each is a process of the command: the short form has a first word, an empty one, and one without a proposal.
  it('is that of bash, with one shell and one script for all, as for a user', () => {
    const cases = IS_LONG ? CASES : CASES.slice(0, 3);
    const completions = cases.map(([words]) => {
      const list = ['nest-agent-query', ...words].map((word) => `'${word}'`).join(' ');
      return `
        COMP_WORDS=(${list}); COMP_CWORD=${words.length}; COMPREPLY=()
        _nest_agent_query
        printf '%s\\n' "\${COMPREPLY[@]}"
        printf '\\0'`;
    });
    const program = `
      nest-agent-query() { '${process.execPath}' '${CLI}' "$@"; }
      eval "$(nest-agent-query completion bash)"
      ${completions.join('')}`;
    const output = execFileSync('bash', ['--norc', '-c', program], { encoding: 'utf8' });
    const proposals = output.split('\0').map((lines) => lines.split('\n').filter(Boolean));
    expect(proposals.slice(0, -1)).toEqual(cases.map(([, expected]) => expected));
  });
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
