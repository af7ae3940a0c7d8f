import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { message } from '../../src/index.js';
import { promise } from '../promises.js';
import { CommandProcess, quickCommand } from '../support/command-line.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { type Call, ScriptedAgent } from '../support/scripted-agent.js';

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const ALPHABET = 'The quick brown fox jumps over the lazy dog. ';

describeOnOneAdapter('The command line, in a conversation with a host on %s', (adapter) => {
  let agent: ScriptedAgent;
  let host: Host;
  let directory: string;

  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, { streams: { retryMs: 10 } });
    directory = await mkdtemp(join(tmpdir(), 'cli-'));
  });
  afterEach(async () => {
    await host.close();
    await rm(directory, { recursive: true });
  });

  /** Executes the command with the URL of the host. */
  const run = (parameters: string[], stdin?: string) =>
    quickCommand(parameters, { AGENT_QUERY_URL: host.url }, stdin);
  /** Lets the next call answer. */
  async function answer(number: number, ...envelopes: Parameters<Call['emit']>): Promise<Call> {
    const call = await agent.call(number);
    call.emit(...envelopes);
    call.finish();
    return call;
  }

  it(promise('cli.chat'), async () => {
    const path = join(directory, 'a.csv');
    await writeFile(path, 'a,b\n');
    const stdin = 'One\n\n \r\n/file /etc/passwd\r\nThree';
    const chatting = run(['chat', '-f', path], stdin);
    const sent = [];
    for (const number of [1, 2, 3]) sent.push((await answer(number, message(`# ${number}`))).query);
    expect(await chatting).toEqual({ stdout: '# 1\n# 2\n# 3\n', stderr: '', code: 0 });
    expect(sent.map(({ parts }) => parts)).toMatchObject([
      [
        { type: 'text', text: 'One' },
        { type: 'file', name: 'a.csv' },
      ],
      [{ type: 'text', text: '/file /etc/passwd' }],
      [{ type: 'text', text: 'Three' }],
    ]);
    expect(sent.map(({ parts }) => parts.length)).toEqual([2, 1, 1]);
    const [id, ...others] = sent.map(({ kwargs }) => kwargs['session_id'] as unknown);
    expect(id).toMatch(UUID);
    expect(others).toEqual([id, id]);
  });

  it(promise('cli.chat', 'the first text that does not go well is the last'), async () => {
    const chatting = new CommandProcess(['chat', '-s', 's', '--url', host.url]);
    // Stdin stays open.
    chatting.child.stdin!.write('One\nTwo\nThree\n');
    await answer(1, message('Yes.\n'));
    (await agent.call(2)).fail(new Error('secret'));
    const { stdout, stderr, code } = await chatting.end();
    expect([stdout, code]).toEqual(['Yes.\n', 1]);
    expect(stderr).toMatch(/^The run \S+ failed: .*\(handler_failed\)\n$/);
    expect(agent.calls).toHaveLength(2);
  });

  it(promise('cli.chat', 'continues an answer whose connection is cut'), async () => {
    const proxy = await CuttingProxy.before(host.url);
    try {
      const chatting = new CommandProcess(['chat', '--url', proxy.url]);
      chatting.child.stdin!.end('One\n');
      const call = await agent.call(1);
      proxy.cutAfter(100);
      for (let sent = 0; sent < 10; sent += 1) call.emit(message(ALPHABET));
      call.finish();
      expect(await chatting.end()).toMatchObject({ stdout: `${ALPHABET.repeat(10)}\n`, code: 0 });
      expect(proxy.cuts).toBe(1);
    } finally {
      await proxy.stop();
    }
  });

  it(promise('cli.chat', 'a signal cancels the run'), async () => {
    const chatting = new CommandProcess(['chat', '--url', host.url]);
    chatting.child.stdin!.write('One\nTwo\n');
    const call = await agent.call(1);
    chatting.child.kill('SIGINT');
    expect(await chatting.end()).toMatchObject({ stdout: '', code: 130 });
    expect(call.context.signal.aborted).toBe(true);
    expect(agent.calls).toHaveLength(1);
  });

  it(promise('cli.continue'), async () => {
    expect(await run(['ask', '--continue', 'Hello'])).toEqual({
      stdout: '',
      stderr: 'error: There is no session to continue. To begin one: --session NAME\n',
      code: 2,
    });
    for (const [number, session] of [
      [1, 'first'],
      [2, 'last'],
    ] as const) {
      const asked = run(['ask', 'Hello', '-s', session]);
      await answer(number);
      await asked;
    }
    const asked = run(['ask', '-c', 'And?']);
    expect((await answer(3)).query.kwargs).toEqual({ session_id: 'last' });
    expect((await asked).code).toBe(0);
    const chatting = run(['chat', '-c'], 'And?');
    expect((await answer(4)).query.kwargs).toEqual({ session_id: 'last' });
    expect((await chatting).code).toBe(0);
    expect((await run(['ask', '-c', '-s', 'first', 'Hello'])).code).toBe(2);
  });
});
