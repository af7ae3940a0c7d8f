import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Envelope,
  file,
  type HandlerFunction,
  log,
  message,
  progress,
  reasoning,
  result,
  source,
  toolCall,
  usage,
} from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { eventsOf, get } from '../support/client.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import {
  BINDINGS,
  briefly,
  Client,
  CURSORS,
  jsonRpc,
  rest,
  startA2a,
  streamEventsOf,
  textsOf,
} from './a2a-host.js';

const EXTENSION = { 'a2a-extensions': `https://other.example/, ${CURSORS}` };

const ALL: Envelope[] = [
  log('Beginning.'),
  reasoning('Hm'),
  message('Hel'),
  message('lo "Ä\u2028"'),
  message(''),
  toolCall('call_1', 'search', { q: 'ü' }),
  message('Again'),
  message('Other', { id: 'b' }),
  source('https://a.example/', { title: 'A' }),
  source('https://b.example/'),
  file({ name: 'a.txt', mimeType: 'text/plain', content: Buffer.from('a') }),
  progress(1, { total: 2 }),
  result({ answer: 42 }),
  usage({ inputTokens: 1, outputTokens: 2 }),
];

describeOnOneAdapter('A stream of A2A on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startA2a(adapter, async function* () {
      yield* ALL;
    });
  });
  afterAll(() => host.close());

  const literal = (text: string) =>
    text
      .replaceAll(host.url, '<origin>')
      .replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, '<run>')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replace(/a2a-[\da-f]{32}/g, '<context>');
  const NAMES = '"taskId":"<run>","contextId":"<context>"';
  const status = (state: string, part?: string, seq?: number) => {
    const told = `,"message":{"messageId":"<run>.${seq}","contextId":"<context>","taskId":"<run>","role":"ROLE_AGENT","parts":[${part}]}`;
    return `{"statusUpdate":{${NAMES},"status":{"state":"TASK_STATE_${state}"${part === undefined ? '' : told}}}}`;
  };
  const json = (value: string) => `{"data":${value},"mediaType":"application/json"}`;
  const artifact = (members: string, flags = '') =>
    `{"artifactUpdate":{${NAMES},"artifact":{${members}}${flags}}}`;
  const text = (id: string, content: string, flags = '') =>
    artifact(`"artifactId":"${id}","parts":[{"text":"${content}"}]`, flags);
  const SHA = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';
  const EVENTS = [
    '{"task":{"id":"<run>","contextId":"<context>","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"<time>"}}}',
    status('SUBMITTED', '{"text":"Beginning."}', 1),
    status('WORKING'),
    text('text-3', 'Hel'),
    text('text-3', 'lo \\"Ä\\u2028\\"', ',"append":true'),
    status(
      'WORKING',
      json('{"type":"tool_call","data":{"id":"call_1","name":"search","arguments":{"q":"ü"}}}'),
      6,
    ),
    text('text-7', 'Again'),
    text('text-8', 'Other'),
    artifact(
      `"artifactId":"sources","name":"sources","parts":[${json('{"url":"https://a.example/","title":"A"}')}]`,
    ),
    artifact(
      `"artifactId":"sources","name":"sources","parts":[${json('{"url":"https://b.example/"}')}]`,
      ',"append":true',
    ),
    artifact(
      `"artifactId":"file-11","name":"a.txt","parts":[{"url":"<origin>/query/<run>/files/${SHA}","filename":"a.txt",` +
        '"mediaType":"text/plain"}]',
      ',"lastChunk":true',
    ),
    status('WORKING', json('{"type":"progress","data":{"done":1,"total":2}}'), 12),
    artifact(`"artifactId":"result","name":"result","parts":[${json('{"answer":42}')}]`, ',"lastChunk":true'),
    status('WORKING', json('{"type":"usage","data":{"inputTokens":1,"outputTokens":2}}'), 14),
    status('COMPLETED'),
  ];

  it('has an event for each envelope [CORE-STREAM-001 CORE-STREAM-003 DM-TASK-002 HTTP_JSON-SSE-001 STREAM-ORDER-001]', async () => {
    const reply = await new Client(host.url, rest).stream('Hi');
    expect(reply.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(reply.headers['a2a-extensions']).toBeUndefined();
    expect(literal(await reply.whole())).toBe(EVENTS.map((event) => `data: ${event}\n\n`).join(''));
  });

  it('has each event in a response of JSON-RPC [JSONRPC-SSE-001]', async () => {
    const reply = await new Client(host.url, jsonRpc).stream('Hi');
    const wrapped = EVENTS.map((event) => `data: {"jsonrpc":"2.0","id":7,"result":${event}}\n\n`);
    expect(literal(await reply.whole())).toBe(wrapped.join(''));
  });

  it('has the artifacts that the task has at last', async () => {
    const client = new Client(host.url, rest);
    const [first] = streamEventsOf(await (await client.stream('Hi')).whole());
    const { artifacts } = await client.get(first!.task!.id);
    expect(artifacts!.map(({ artifactId, parts }) => [artifactId, parts.length])).toEqual([
      ['text-3', 1],
      ['text-7', 1],
      ['text-8', 1],
      ['sources', 2],
      ['file-11', 1],
      ['result', 1],
    ]);
    expect(textsOf({ artifacts } as never).slice(0, 3)).toEqual(['Hello "Ä\u2028"', 'Again', 'Other']);
    const { url } = artifacts![4]!.parts[0]!;
    expect(await (await get(url!, '')).whole()).toBe('a');
  });

  it.each(BINDINGS)('is resumed after each of its events, through $name', async (binding) => {
    const client = new Client(host.url, binding);
    const reply = await client.stream('Hi', {}, EXTENSION);
    expect(reply.headers['a2a-extensions']).toBe(CURSORS);
    const whole = eventsOf(await reply.whole());
    const task = streamEventsOf(reply.text)[0]!.task!;
    expect(task.metadata).toEqual({ [CURSORS]: 1 });
    expect(whole.map(({ id }) => id)).toEqual(whole.map((_, index) => `${task.id}.${index + 1}`));
    for (let count = 0; count < whole.length; count++) {
      const headers = { ...EXTENSION, 'last-event-id': `${task.id}.${count}` };
      expect(eventsOf(await (await client.subscribe(task.id, headers)).whole())).toEqual(whole.slice(count));
    }
    // Some clients send the cursor in the address.
    const path = `/a2a/tasks/${task.id}:subscribe?lastEventId=${task.id}.2`;
    const rest = await get(host.url, path, { 'a2a-version': '1.0', ...EXTENSION });
    expect(eventsOf(await rest.whole()).map(({ id }) => id)).toEqual(whole.slice(2).map(({ id }) => id));
    // Who has all of it learns that it is over.
    const headers = { ...EXTENSION, 'last-event-id': whole.at(-1)!.id };
    expect(eventsOf(await (await client.subscribe(task.id, headers)).whole())).toEqual(whole.slice(-1));
    expect(
      await client.error('SubscribeToTask', { id: task.id }, { 'last-event-id': 'other.1' }),
    ).toMatchObject({
      fields: ['id must be the task that Last-Event-ID belongs to'],
    });
  });
});

describeOnOneAdapter('A subscription of A2A on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startA2a(adapter, agent.handler);
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const begin = async (client: Client) => {
    const { id } = await client.send('Hi', {}, { configuration: { returnImmediately: true } });
    return { id, call: await agent.call(host.agent.load().running) };
  };

  it.each(BINDINGS)(
    'begins with the task and its artifacts so far, and ends with it, through $name [STREAM-SUB-001 STREAM-SUB-002]',
    async (binding) => {
      const client = new Client(host.url, binding);
      const { id, call } = await begin(client);
      call.emit(message('Hel'));
      await host.agent.follow('anonymous', id).admitted;
      const [run] = (await host.agent.runs('anonymous')).runs;
      expect(run!.events).toBe(1);
      const reply = await client.subscribe(id);
      await reply.until('task');
      call.emit(message('lo'));
      call.finish();
      const stream = await reply.whole();
      expect(briefly(stream)).toEqual(['task WORKING', 'artifact lo', 'status COMPLETED']);
      expect(streamEventsOf(stream)[0]!.task!.artifacts).toEqual([
        { artifactId: 'text-1', parts: [{ text: 'Hel' }] },
      ]);
      expect(streamEventsOf(stream)[1]!.artifactUpdate).toMatchObject({ append: true });
    },
  );

  it('of a task that has no envelope yet begins with the task', async () => {
    const client = new Client(host.url, rest);
    const { id, call } = await begin(client);
    const reply = await client.subscribe(id, EXTENSION);
    await reply.until('task');
    call.emit(message('Hello'));
    call.finish();
    expect(briefly(await reply.whole())).toEqual([
      'task WORKING',
      'status WORKING',
      'artifact Hello',
      'status COMPLETED',
    ]);
    expect(reply.events.map(({ id: event }) => event)).toEqual(
      [1, 2, 3, 4].map((number) => `${id}.${number}`),
    );
  });

  it('is one of many, which have the same events, and leaves alone [STREAM-ORDER-002 STREAM-ORDER-003 STREAM-ORDER-004]', async () => {
    const clients = BINDINGS.map((binding) => new Client(host.url, binding));
    const { id, call } = await begin(clients[0]!);
    call.emit(message('a'));
    const replies = await Promise.all([0, 1, 0, 1].map((index) => clients[index]!.subscribe(id)));
    for (const reply of replies) await reply.until('task');
    replies[0]!.cut();
    for (const text of ['b', 'c', 'd']) call.emit(message(text));
    call.finish();
    const streams = await Promise.all(replies.slice(1).map((reply) => reply.whole()));
    for (const stream of streams)
      expect(briefly(stream)).toEqual([
        'task WORKING',
        'artifact b',
        'artifact c',
        'artifact d',
        'status COMPLETED',
      ]);
    expect(streamEventsOf(streams[0]!)).toEqual(streamEventsOf(streams[1]!));
  });

  it('may be a GET, as the protocol buffers say', async () => {
    const client = new Client(host.url, rest);
    const { id, call } = await begin(client);
    const reply = await get(host.url, `/a2a/tasks/${id}:subscribe?A2A-Version=1.0`);
    await reply.until('task');
    call.finish();
    expect(briefly(await reply.whole())).toEqual(['task WORKING', 'status COMPLETED']);
  });

  it.each(BINDINGS)(
    'is refused if the task has ended or does not exist, through $name [STREAM-SUB-003 STREAM-SUB-004]',
    async (binding) => {
      const client = new Client(host.url, binding);
      const { id, call } = await begin(client);
      call.finish();
      await host.idle();
      expect(await client.error('SubscribeToTask', { id })).toMatchObject({
        reason: 'UNSUPPORTED_OPERATION',
        message: 'The task has ended: nothing more comes. Get it with GetTask.',
      });
      expect(await client.error('SubscribeToTask', { id: 'none' })).toMatchObject({
        reason: 'TASK_NOT_FOUND',
      });
    },
  );
});

it('A stream of A2A tells again what a restart has changed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'a2a-'));
  const handler: HandlerFunction = Object.assign(
    async function* (_, context) {
      if (!context.resumed) {
        yield message('kept ');
        await context.checkpoint({});
        yield message('void');
        yield file({ name: 'void.txt', mimeType: 'text/plain', content: Buffer.from('a') });
        await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
        return;
      }
      yield message('again');
    } as HandlerFunction,
    { restarts: 1 },
  );
  const start = async () =>
    startA2a('express', handler, { store: await openStore(`file:${join(directory, 'db')}`) });
  let host = await start();
  const cut = await new Client(host.url, rest).stream('Hi');
  await cut.until('void.txt');
  const { id } = streamEventsOf(cut.text)[0]!.task!;
  await host.close();
  host = await start();
  const client = new Client(host.url, rest);
  const stream = await (await client.subscribe(id, { ...EXTENSION, 'last-event-id': `${id}.0` })).whole();
  expect(briefly(stream)).toEqual([
    'task SUBMITTED',
    'status WORKING',
    'artifact kept ',
    'artifact void',
    'artifact ',
    'status WORKING',
    'artifact kept ',
    'artifact ',
    'artifact again',
    'status COMPLETED',
  ]);
  const updates = streamEventsOf(stream).flatMap(({ artifactUpdate }) => artifactUpdate ?? []);
  expect(updates.map(({ artifact, append }) => [artifact.artifactId, append ?? false])).toEqual([
    ['text-1', false],
    ['text-1', true],
    ['file-3', false],
    ['text-1', false],
    ['file-3', false],
    ['text-5', false],
  ]);
  expect(textsOf(await client.get(id))).toEqual(['kept ', 'again']);
  await host.close();
  await rm(directory, { recursive: true });
});
