import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { collect, contextOf, queryOf } from 'nest-agent-query/testing';
import type { AcpOptions } from '../src/index.js';
import { type Message, Schema } from './schema.js';
import { answerOf, NO, Scripted, YES } from './scripted.js';

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

const schema = new Schema();

describe('The scripted agent', () => {
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

describe('The handler of an agent of ACP', () => {
  let scripted: Scripted;
  beforeEach(() => (scripted = new Scripted()));
  afterEach(() => scripted.end());

  it('sends what the schema of the protocol allows', async () => {
    const file = join(scripted.directory, 'received');
    const of = (is: string, options: Partial<AcpOptions> = {}) =>
      scripted.handler(`${is};records=${file}`, options);
    const turn = { question: 'Hello', answer: 'Hi' };
    const next = (...turns: object[]) => ({
      sessionId: 's',
      runId: `turn-${turns.length + 1}`,
      turns: turns as [],
    });
    const signed = { authMethod: 'key', configOptions: { depth: 'high' } };
    await answerOf(of('auth;options=low,high', signed), ['run echo a', 'own x/y'], () => YES, next());
    await answerOf(of(''), ['run echo b'], () => NO, next(turn));
    await answerOf(of('resume'), ['say Hello'], () => YES, next(turn, turn));
    await answerOf(of('choices=always'), ['run echo c']);
    const context = await contextOf(next(turn, turn, turn));
    context.ask = () => {
      context.abort();
      return Promise.reject(context.signal.reason as Error);
    };
    const query = await queryOf('DO run echo d');
    await collect(of('withdraws').handle(query, context)).catch(() => undefined);
    const sent = (await readFile(file, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Message);
    const methods = new Set(sent.flatMap(({ method }) => method ?? []));
    expect(methods).toEqual(
      new Set([
        'initialize',
        'session/new',
        'authenticate',
        'session/set_mode',
        'session/set_config_option',
        'session/prompt',
        'session/load',
        'session/resume',
        'session/cancel',
      ]),
    );
    const asked = sent
      .filter(({ id }) => typeof id === 'string')
      .map(({ id }) => ({ id: id!, method: 'session/request_permission' }));
    // The last agent may be ended before it has written down the answer to what it withdraws.
    expect(asked.length).toBeGreaterThan(3);
    expect(schema.faultsOf(sent, asked)).toEqual([]);
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
