import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { interrupt, MemorySaver, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { AIMessage } from '@langchain/core/messages';
import { fromLangGraph } from '../../src/index.js';
import type { Envelope, RunInputs, RunView } from 'nest-agent-query';
import { FakeModel, type ModelStep } from '../../../../test/contracts/adapters/fake-model.js';
import { graphOf } from '../harness.js';
import { promise } from '../../../../test/promises.js';
import { answerOf, ask, envelopesOf, follow, request } from '../../../../test/support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../../../../test/support/host.js';
import { IS_LONG } from '../../../../test/support/long-form.js';
import { serve, spawnService, startService } from '../../../../test/support/service.js';

const ROOT = resolve(import.meta.dirname, '../../../..');

const says = (text: string): ModelStep => ({
  acts: [
    { type: 'text', text },
    { type: 'end', usage: { inputTokens: 1, outputTokens: 1 } },
  ],
});

describeOnOneAdapter('A graph of LangGraph on %s', (adapter) => {
  let host: Host;
  let saver: MemorySaver;
  const owner = (request: { headers: Record<string, string> }) => request.headers['x-caller'];
  beforeEach(() => (saver = new MemorySaver()));
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const askIn = (text: string, caller = 'ann') =>
    ask(host.url, text, { headers: { 'x-caller': caller }, kwargs: { session_id: 's' } });

  it(promise('langgraph.memory'), async () => {
    const model = new FakeModel([says('Hello'), says('Ada'), says('Who?'), says('I forgot')]);
    host = await startAgent(adapter, fromLangGraph(graphOf(model, [], saver)), { owner });
    const remembered: number[] = [];
    const answers: string[] = [];
    for (const [text, caller] of [
      ['I am Ada', 'ann'],
      ['Who am I?', 'ann'],
      ['Who am I?', 'bob'],
    ] as const) {
      answers.push(answerOf(await (await askIn(text, caller)).whole()).text);
      remembered.push(model.newest.messages.length);
    }
    const erasure = { method: 'DELETE', path: '/query/sessions/s', headers: { 'x-caller': 'ann' } };
    expect((await request(host.url, erasure)).status).toBe(204);
    await (await askIn('Who am I?')).whole();
    expect(answers).toEqual(['Hello', 'Ada', 'Who?']);
    expect(remembered).toEqual([1, 3, 1]);
    expect(model.newest.messages.map(({ text }) => text)).toEqual(['Who am I?']);
  });

  it(promise('langgraph.cancel'), async () => {
    const model = new FakeModel([{ acts: [{ type: 'text', text: 'The cap' }], then: 'hold' }]);
    host = await startAgent(adapter, fromLangGraph(graphOf(model, [], saver)));
    const asked = await ask(host.url, 'The capital?');
    await asked.until('The cap');
    const cancelled = await request(host.url, { method: 'DELETE', path: `/query/${asked.runId}` });
    expect(cancelled.status).toBe(200);
    expect(model.newest.isAborted).toBe(true);
    expect(answerOf(await asked.whole())).toEqual({ text: 'The cap', done: [{ status: 'cancelled' }] });
    expect(saver.storage).toEqual({});
  });

  it(promise('langgraph.files'), async () => {
    const bytes = await readFile(join(ROOT, 'test/fixtures/files/picture.png'));
    const draws: ModelStep = { acts: [{ type: 'file', mimeType: 'image/png', bytes }, ...says('Here').acts] };
    const model = new FakeModel([draws, says('Brighter')]);
    host = await startAgent(adapter, fromLangGraph(graphOf(model, [])), { owner });
    const drawn = envelopesOf(await (await askIn('Draw')).whole());
    const { path } = drawn.find(({ type }) => type === 'file')!.data as { path: string };
    const download = await request(host.url, { method: 'GET', path, headers: { 'x-caller': 'ann' } });
    await download.whole();
    expect(download.bytes.equals(bytes)).toBe(true);
    await (await askIn('Make it brighter')).whole();
    const { messages } = model.newest;
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(Buffer.from(messages[2]!.files[0]!.bytes).equals(bytes)).toBe(true);
  });

  it(promise('langgraph.question'), async () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('ask', () => ({ messages: [new AIMessage(`It is warm in ${interrupt('Which city?')}.`)] }))
      .addEdge('__start__', 'ask')
      .compile({ checkpointer: saver });
    host = await startAgent(adapter, fromLangGraph(graph), { owner });
    const asked = await askIn('The weather?');
    await asked.until('input_required');
    const headers = { 'x-caller': 'ann' };
    const path = `/query/${asked.runId}/inputs`;
    const open = await request(host.url, { method: 'GET', path, headers });
    const { inputs } = (await open.json()) as unknown as RunInputs;
    expect(inputs.map(({ kind, message, session }) => [kind, message, session])).toEqual([
      ['input', 'Which city?', 's'],
    ]);
    const answers = [{ id: inputs[0]!.id, outcome: 'answered', value: 'Paris' }];
    const given = await request(host.url, { path, headers }, JSON.stringify({ answers }));
    expect(given.status).toBe(200);
    const envelopes = envelopesOf(await asked.whole());
    expect(envelopes.map(({ type }) => type)).toEqual([
      'input_required',
      'input_resolved',
      'message',
      'done',
    ]);
    expect(answerOf(asked.text).text).toBe('It is warm in Paris.');
  });
});

/** In how many steps the graph calls a tool. */
const STEPS = IS_LONG ? 4 : 2;

/**
 * At which of its moments its process is killed. Each costs the start of a service. The short form has two: the result of a tool is
 * written, and its checkpoint is not; and the model has just spoken.
 */
const KILLS = IS_LONG ? [17, 19, 25, 35, 43, 63] : [15, 20];

/**
 * A graph that calls a tool in each of its steps, with a checkpointer on disk. It kills its own process. Its moments are those while
 * the model speaks, those in the tool, and those before and after what the checkpointer keeps.
 */
const AGENT = `
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { fromLangGraph } from ${JSON.stringify(join(ROOT, 'packages/langgraph/dist/index.js'))};

const STEPS = ${STEPS};

const KILLS = ${JSON.stringify(KILLS)};

/** Each moment has a number, also over restarts. */
function moment() {
  if (!existsSync('go')) return;
  const number = existsSync('moments') ? readFileSync('moments').length : 0;
  appendFileSync('moments', '.');
  if (KILLS.includes(number)) process.kill(process.pid, 'SIGKILL');
}

class DiskSaver extends MemorySaver {
  constructor() {
    super();
    if (!existsSync('threads')) return;
    const revive = (_, value) => (value?.base64 === undefined ? value : new Uint8Array(Buffer.from(value.base64, 'base64')));
    Object.assign(this, JSON.parse(readFileSync('threads', 'utf8'), revive));
  }
  #save() {
    const replace = (_, value) => (value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value);
    writeFileSync('threads.new', JSON.stringify({ storage: this.storage, writes: this.writes }, replace));
    renameSync('threads.new', 'threads');
  }
  async put(...args) {
    moment();
    const result = await super.put(...args);
    this.#save();
    moment();
    return result;
  }
  async putWrites(...args) {
    moment();
    await super.putWrites(...args);
    this.#save();
    moment();
  }
}

class Model extends BaseChatModel {
  _llmType() {
    return 'steps';
  }
  bindTools() {
    return this;
  }
  async *_streamResponseChunks(messages, _options, manager) {
    while (!existsSync('go')) await pause(5);
    const step = messages.filter((message) => message.getType() === 'tool').length + 1;
    appendFileSync('questions', messages.filter((message) => message.getType() === 'human').length + '\\n');
    const fields = [{ content: 'step ' }, { content: step + '. ' }];
    if (step <= STEPS)
      fields.push({ content: '', tool_call_chunks: [{ type: 'tool_call_chunk', index: 0, id: 'call-' + step, name: 'work', args: '{"step":' + step + '}' }] });
    for (const field of fields) {
      const chunk = new ChatGenerationChunk({ message: new AIMessageChunk(field), text: field.content });
      yield chunk;
      await manager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
      moment();
    }
  }
}

const work = tool(
  async ({ step }) => {
    appendFileSync('works', step + '\\n');
    moment();
    return { done: step };
  },
  { name: 'work', description: 'works', schema: { type: 'object', properties: { step: { type: 'number' } } } },
);

export default fromLangGraph(
  createReactAgent({ llm: new Model({}), tools: [work], checkpointer: new DiskSaver() }),
  { restarts: 1000 },
);
`;

describe('A graph of LangGraph in a service', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'langgraph-'));
    await symlink(join(ROOT, 'packages/node_modules'), join(directory, 'node_modules'));
    await writeFile(join(directory, 'agent.mjs'), AGENT);
  });
  afterEach(() => rm(directory, { recursive: true }));
  const linesOf = async (name: string) => (await readFile(join(directory, name), 'utf8')).trim().split('\n');
  const variables = { AGENT: './agent.mjs', DATABASE_URL: 'file:./runs.db' };

  it(
    promise('langgraph.killed'),
    async () => {
      const first = await startService(variables, directory);
      const kwargs = { session_id: 's' };
      const asked = await ask(first.url, 'Work', { headers: { prefer: 'respond-async' }, kwargs });
      const { id } = (await asked.json()) as unknown as RunView;
      await writeFile(join(directory, 'go'), '');
      expect(await first.exited).toBe('SIGKILL');
      for (let death = 1; death < KILLS.length; death++)
        expect(await spawnService(variables, directory).exited).toBe('SIGKILL');
      const last = await serve(variables, directory);
      const stream = await (await follow(last.url, id)).whole();
      expect(answerOf(stream).done).toEqual([{ status: 'completed' }]);
      const envelopes = keptOf(envelopesOf(stream));
      await last.stop();
      expect(new Set(await linesOf('questions'))).toEqual(new Set(['1']));
      expect(contentsOf(envelopes)).toEqual([
        ...Array.from({ length: STEPS }, (_, index) => [
          `step ${index + 1}. `,
          `call-${index + 1}`,
          { id: `call-${index + 1}`, content: { done: index + 1 } },
        ]).flat(),
        `step ${STEPS + 1}. `,
      ]);
      // A step that was cut off is executed again, and one that has ended is not.
      const works = (await linesOf('works')).map(Number);
      expect(works).toEqual(works.toSorted((one, other) => one - other));
      expect(new Set(works).size).toBe(STEPS);
    },
    280_000,
  );
});

/** The envelopes that are not void. */
function keptOf(envelopes: Envelope[]): Envelope[] {
  const kept: (Envelope | undefined)[] = [];
  for (const envelope of envelopes) {
    if (envelope.type === 'restarted') kept.fill(undefined, (envelope.data as { from: number }).from);
    kept.push(envelope.type === 'restarted' ? undefined : envelope);
  }
  return kept.filter((envelope) => envelope !== undefined);
}

/** The texts of messages, the ids of calls, and the results. Pieces of one text are one. */
function contentsOf(envelopes: Envelope[]): unknown[] {
  const contents: unknown[] = [];
  for (const { type, data } of envelopes as { type: string; data: { content: string; id: string } }[]) {
    if (type === 'tool_call') contents.push(data.id);
    if (type === 'tool_result') contents.push(data);
    if (type !== 'message') continue;
    const last = contents.at(-1);
    const isPart = typeof last === 'string' && last.startsWith('step');
    if (isPart) contents[contents.length - 1] = last + data.content;
    else contents.push(data.content);
  }
  return contents;
}
