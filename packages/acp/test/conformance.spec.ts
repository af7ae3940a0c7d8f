import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Message, Schema } from './schema.js';

const AGENT = join(import.meta.dirname, 'agent.mjs');
const PLAN = '[{"content":"Read","status":"completed"},{"content":"Write","status":"pending"}]';

/** What the agent is like, what it does, and the members that are faults on purpose. */
const SCRIPTS: [is: string, lines: string[], faults: RegExp | undefined][] = [
  [
    'usage=response',
    ['say Hello', 'think Hm', 'image', 'link https://example.org/', `plan ${PLAN}`],
    undefined,
  ],
  [
    'ids;options=low,high;late',
    ['write file "a\\nb"', 'read file', 'read none', 'both echo a && echo b'],
    undefined,
  ],
  [
    'alone;choices=two;usage=quota',
    ['run echo a', 'child echo b', 'open Thinking', 'large 100000'],
    undefined,
  ],
  ['filling;twice;named;usage=chunk', ['run exit 3', 'remark Careful', 'tell environment'], undefined],
  [
    'auth;usage=claude',
    ['fail {"code":-32603,"message":"Internal error","data":{"details":"429"}}'],
    undefined,
  ],
  ['bare', ['run echo a'], /^session\/update: .* must have required property 'title'/],
];

describe('The scripted agent', () => {
  const schema = new Schema();
  let home: string;
  beforeEach(async () => (home = await mkdtemp(join(tmpdir(), 'acp-conformance-'))));
  afterEach(() => rm(home, { recursive: true }));

  it.each(SCRIPTS)('writes what the schema of the protocol allows: %s', async (is, lines, faults) => {
    const client = new Client(home, is);
    await client.answer('initialize', { protocolVersion: 1, clientCapabilities: {} });
    if (is.startsWith('auth')) await client.answer('authenticate', { methodId: 'key' });
    const begun = await client.answer('session/new', { cwd: home, mcpServers: [] });
    const { sessionId } = begun.result as { sessionId: string };
    await client.answer('session/set_mode', { sessionId, modeId: 'default' });
    const text = lines.map((line) => `DO ${line}`).join('\n');
    await client.answer('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
    await client.answer('session/load', { sessionId, cwd: home, mcpServers: [] });
    await client.answer('session/close', { sessionId });
    await client.end();
    expect(schema.faultsOf(client.sent, client.received)).toEqual([]);
    const found = schema.faultsOf(client.received, client.sent);
    if (faults) expect(found).toEqual(expect.arrayContaining([expect.stringMatching(faults)]));
    else expect(found).toEqual([]);
  });
});

/** A client that allows everything. */
class Client {
  readonly sent: Message[] = [];
  readonly received: Message[] = [];
  #child: ChildProcess;
  #waiting = new Map<number | string, (answer: Message) => void>();

  constructor(home: string, is: string) {
    const env = { PATH: process.env['PATH'], HOME: home, AGENT_IS: is };
    this.#child = spawn(process.execPath, [AGENT], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#child.stdout! }).on('line', (line) => this.#receive(line));
  }

  async answer(method: string, params: object): Promise<Message> {
    const id = this.sent.length;
    const answer = new Promise<Message>((resolve) => this.#waiting.set(id, resolve));
    this.#send({ id, method, params });
    return answer;
  }

  async end(): Promise<void> {
    this.#child.stdin!.end();
    await once(this.#child, 'close');
  }

  #send(message: Message): void {
    this.sent.push(message);
    this.#child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #receive(line: string): void {
    const message = JSON.parse(line) as Message;
    this.received.push(message);
    const { id, method } = message;
    if (method === undefined) this.#waiting.get(id!)?.(message);
    else if (id !== undefined)
      this.#send({ id, result: { outcome: { outcome: 'selected', optionId: 'once' } } });
  }
}
