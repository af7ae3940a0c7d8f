import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { message, toolCall } from '../src/index.js';
import { ask } from './support/client.js';
import { type Host, startAgent } from './support/host.js';
import { type Call, ScriptedAgent } from './support/scripted-agent.js';
import { describeWithTerminal, Terminal } from './support/terminal.js';

const CTRL_C = '\x03';
const CTRL_D = '\x04';
const UP = '\x1b[A';

describeWithTerminal('A conversation on a terminal', () => {
  let agent: ScriptedAgent;
  let host: Host;
  let terminal: Terminal;
  let directory: string;

  async function start(parameters: string[] = [], variables: Record<string, string> = {}): Promise<void> {
    terminal = new Terminal(['chat', ...parameters], { AGENT_QUERY_URL: host.url, ...variables });
    await terminal.until('/help shows what you can type.');
  }
  /** Lets the next call answer. @returns the texts and the names of the files that it was sent */
  async function answer(number: number, ...envelopes: Parameters<Call['emit']>): Promise<string[]> {
    const call = await agent.call(number);
    call.emit(...envelopes);
    call.finish();
    return call.query.parts.map((part) => (part.type === 'text' ? part.text : part.name));
  }

  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startAgent('fastify', agent.handler);
    directory = await mkdtemp(join(tmpdir(), 'chat-'));
  });
  afterEach(async () => {
    await terminal.stop();
    await host.close();
    await rm(directory, { recursive: true });
  });

  it('has one session, which its end names, and shows Markdown', async () => {
    await start();
    await terminal.typeAtPrompt('Hello\r');
    const { kwargs } = (await agent.call(1)).query;
    await answer(
      1,
      message('Let me look.'),
      toolCall('1', 'search', 'it'),
      message('# Title\n\n- **a**\x1b[2J\n'),
    );
    await terminal.until('a\x1b[22m');
    expect(terminal.screen).toContain('Let me look.\r\n\x1b[2mtool: search it\x1b[22m\r\n');
    expect(terminal.screen).toContain('\x1b[1m\x1b[4mTitle\x1b[24m\x1b[22m\r\n');
    expect(terminal.screen).toContain('\r\n• \x1b[1ma\x1b[22m␛[2J\r\n');
    await terminal.typeAtPrompt('And?\r');
    expect(await answer(2, message('No.'))).toEqual(['And?']);
    expect((await agent.call(2)).query.kwargs).toEqual(kwargs);
    await terminal.until('No.\r\n');
    await terminal.typeAtPrompt(CTRL_D);
    expect(await terminal.ended).toEqual([0, null]);
    expect(terminal.screen).toContain(
      `To continue: nest-agent-query chat -s ${String(kwargs['session_id'])}`,
    );
  });

  it('stops the answer at Ctrl-C and goes on; at an empty prompt, Ctrl-C leaves', async () => {
    await start();
    await terminal.typeAtPrompt('Hello\r');
    const call = await agent.call(1);
    call.emit(message('One two'));
    await terminal.until('One two');
    await terminal.untilAfter(CTRL_C, 'was cancelled.');
    expect(call.context.signal.aborted).toBe(true);
    await terminal.typeAtPrompt('typed');
    await terminal.until('typed');
    await terminal.untilAfter(CTRL_C, '^C');
    await terminal.typeAtPrompt('Again\r');
    expect(await answer(2, message('Yes.'))).toEqual(['Again']);
    await terminal.until('Yes.\r\n');
    await terminal.typeAtPrompt(CTRL_C);
    expect(await terminal.ended).toEqual([0, null]);
  });

  it('ends at once at a second Ctrl-C while the handler does not stop', async () => {
    const stubborn = new ScriptedAgent(true);
    const other = await startAgent('fastify', stubborn.handler, { runs: { stopDeadlineMs: 60_000 } });
    await start(['--url', other.url]);
    await terminal.typeAtPrompt('Hello\r');
    const call = await stubborn.call(1);
    await terminal.untilAfter(CTRL_C, 'Ctrl-C again exits at once.');
    terminal.type(CTRL_C);
    expect(await terminal.ended).toEqual([130, null]);
    call.finish();
    await other.close();
  });

  it('sends files that are attached, whose paths are completed', async () => {
    const path = join(directory, 'my data.csv');
    await writeFile(path, 'a,b\n');
    await start(['-f', path]);
    await terminal.until('[my data.csv] > ');
    await terminal.untilAfter('/drop\r', '\r\n');
    await terminal.untilAfter(`/file ${directory}/no-such\r`, 'There is no such file.');
    await terminal.untilAfter(`/fi\t${directory}/my\t`, 'my data.csv');
    await terminal.untilAfter('\r', '[my data.csv] > ');
    await terminal.typeAtPrompt('What is it?\r');
    expect(await answer(1, message('A file.'))).toEqual(['What is it?', 'my data.csv']);
    await terminal.until('A file.\r\n');
    await terminal.typeAtPrompt('Really?\r');
    expect(await answer(2)).toEqual(['Really?']);
  });

  it('sends a suggestion of the agent by its number, with its files', async () => {
    await start();
    await terminal.typeAtPrompt('Hello\r');
    const files = [{ name: 'orders.csv', mimeType: 'text/csv', base64: 'YSxiCg==' }];
    const items = [{ text: 'page 3' }, { text: 'how many rows', label: 'Count', files }];
    await answer(1, { type: 'suggestions', data: { items } });
    await terminal.until('  2. Count: how many rows [orders.csv]');
    await terminal.untilAfter('/3\r', 'There is no suggestion 3.');
    await terminal.typeAtPrompt('/2\r');
    expect(await answer(2)).toEqual(['how many rows', 'orders.csv']);
    const [, file] = (await agent.call(2)).query.parts;
    expect(file).toMatchObject({ mimeType: 'text/csv', file: { size: 4 } });
  });

  it('sends several lines that are pasted or end with a backslash as one text, and repeats lines with "up"', async () => {
    await start();
    await terminal.typeAtPrompt('\x1b[200~One\r\tTwo\x1b[201~\r');
    expect(await answer(1, message('A.'))).toEqual(['One\n\tTwo']);
    await terminal.until('A.\r\n');
    await terminal.typeAtPrompt('Three\\\rFour\r');
    expect(await answer(2, message('B.'))).toEqual(['Three\nFour']);
    await terminal.until('B.\r\n');
    await terminal.typeAtPrompt(`${UP}\r`);
    expect(await answer(3, message('C.'))).toEqual(['Four']);
    await terminal.until('C.\r\n');
    // Lines that come together are texts, one after the other.
    await terminal.typeAtPrompt('Five\rSix\rSe');
    expect(await answer(4, message('D.'))).toEqual(['Five']);
    expect(await answer(5, message('E.'))).toEqual(['Six']);
    await terminal.until('E.\r\n');
    terminal.type('ven\r');
    expect(await answer(6)).toEqual(['Seven']);
  });

  it('says what is wrong with a command, and with a query, and goes on', async () => {
    await start();
    await terminal.untilAfter('/help\r', '/drop       sends none of the files');
    await terminal.untilAfter('/nope\r', 'There is no command /nope. /help lists them.');
    await terminal.untilAfter('\r \r', '>');
    await terminal.typeAtPrompt('Hello\r');
    (await agent.call(1)).fail(new Error('secret'));
    await terminal.until('(handler_failed)');
    await terminal.typeAtPrompt(' /nope\r');
    expect(await answer(2, message('Yes.'))).toEqual([' /nope']);
    await terminal.until('Yes.\r\n');
    await terminal.typeAtPrompt('/exit\r');
    expect(await terminal.ended).toEqual([0, null]);
  });

  it('shows what a session has, then the answer of a run that executes', async () => {
    const asked = ask(host.url, 'What is it?', { kwargs: { session_id: 's' } });
    await answer(1, message('**An answer.**\n'));
    await (await asked).whole();
    const executing = ask(host.url, 'And then?', { kwargs: { session_id: 's' } });
    await (
      await agent.call(2)
    ).started;
    await start(['--continue']);
    expect(terminal.screen).toMatch(/> What is it\?[^]*An answer\.[^]*Session s\./);
    expect(terminal.screen).toContain('\x1b[1mAn answer.\x1b[22m\r\n');
    await answer(2, message('The end.'));
    await terminal.until('The end.\r\n');
    await (await executing).whole();
    await terminal.typeAtPrompt(`${UP}\r`);
    expect(await answer(3)).toEqual(['What is it?']);
  });

  it('ends where there is no such service', async () => {
    terminal = new Terminal(['chat', '--url', `${host.url}/no/such`], {});
    expect(await terminal.ended).toEqual([3, null]);
    expect(terminal.screen).toContain('Does the service listen there?');
  });
});
