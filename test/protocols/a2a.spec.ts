import { message, result } from '../../src/index.js';
import { get, type Reply } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import {
  BINDINGS,
  Client,
  echo,
  type Json,
  jsonRpc,
  messageOf,
  startA2a,
  textOf,
  textsOf,
} from './a2a-host.js';

const RUN = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

/** An answer without what differs from run to run. */
const literal = async (reply: Reply) =>
  (await reply.whole())
    .replace(RUN, '<run>')
    .replace(TIME, '<time>')
    .replace(/a2a-[\da-f]{32}/g, '<context>');

const TASK =
  '"task":{"id":"<run>","contextId":"<context>","status":{"state":"TASK_STATE_COMPLETED","timestamp":"<time>"},' +
  '"artifacts":[{"artifactId":"text-1","parts":[{"text":"Hello"}]},' +
  '{"artifactId":"result","name":"result","parts":[{"data":{"answer":42},"mediaType":"application/json"}]}],' +
  '"history":[{"messageId":"m1","contextId":"<context>","taskId":"<run>","role":"ROLE_USER","parts":[{"text":"Hi"}]}],' +
  '"metadata":{"ticket":"7"}}';

describeOnOneAdapter('A message of A2A on %s', (adapter) => {
  let host: Host;
  const message_ = {
    ...{ messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'Hi' }] },
    metadata: { 'nest-agent-query:metadata': { ticket: '7' } },
  };
  beforeAll(async () => {
    host = await startA2a(adapter, async function* () {
      yield message('Hel');
      yield message('lo');
      yield result({ answer: 42 });
    });
  });
  afterAll(() => host.close());

  it('is answered with its task [CORE-SEND-001 JSONRPC-FMT-001 JSONRPC-FMT-002 DM-TASK-001 DM-ART-001 DM-STATUS-001 DM-SERIAL-001 DM-SERIAL-002 DM-SERIAL-003]', async () => {
    const reply = await jsonRpc.call(host.url, 'SendMessage', { message: message_ });
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(await literal(reply)).toBe(`{"jsonrpc":"2.0","id":7,"result":{${TASK}}}`);
  });

  it('is answered in REST with the same task [HTTP_JSON-SVC-001 BIND-EQUIV-001 BIND-EQUIV-002]', async () => {
    const reply = await BINDINGS[1]!.call(host.url, 'SendMessage', { message: message_ });
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe('application/a2a+json; charset=utf-8');
    expect(await literal(reply)).toBe(`{${TASK}}`);
  });
});

describeOnOneAdapter('A task of A2A on %s', (adapter) => {
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

  it.each(BINDINGS)('is waited for [CORE-EXECUTION-MODE-001], through $name', async (binding) => {
    const client = new Client(host.url, binding);
    const sent = client.send('Hi');
    const call = await agent.call(1);
    call.emit(message('Hello'));
    let isAnswered = false;
    void sent.then(() => (isAnswered = true));
    const { tasks } = await client.result<{ tasks: { id: string }[] }>('ListTasks');
    expect((await client.get(tasks[0]!.id)).status.state).toBe('TASK_STATE_WORKING');
    expect(isAnswered).toBe(false);
    call.finish();
    const task = await sent;
    expect([task.status.state, ...textsOf(task)]).toEqual(['TASK_STATE_COMPLETED', 'Hello']);
  });

  it.each(BINDINGS)(
    'is not waited for on demand [CORE-EXECUTION-MODE-002], through $name',
    async (binding) => {
      const client = new Client(host.url, binding);
      const task = await client.send('Hi', {}, { configuration: { returnImmediately: true } });
      expect(task.status.state).toMatch(/^TASK_STATE_(SUBMITTED|WORKING)$/);
      const call = await agent.call(1);
      call.emit(message('Hel'));
      await eventually(async () => textsOf(await client.get(task.id))[0] === 'Hel');
      call.emit(message('lo'));
      call.finish();
      await eventually(async () => (await client.get(task.id)).status.state === 'TASK_STATE_COMPLETED');
      expect(textsOf(await client.get(task.id))).toEqual(['Hello']);
    },
  );

  it('goes on when its client has gone', async () => {
    const gone = new AbortController();
    const sent = fetch(`${host.url}/a2a/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message: messageOf('Hi') }),
      signal: gone.signal,
    });
    const call = await agent.call(1);
    await eventually(() => host.agent.load().followers === 1);
    gone.abort();
    await expect(sent).rejects.toThrow();
    await eventually(() => host.agent.load().followers === 0);
    call.emit(message('Hello'));
    call.finish();
    await host.idle();
    const [run] = (await host.agent.runs('anonymous')).runs;
    expect(run!.status).toBe('completed');
  });

  it.each(BINDINGS)(
    'is cancelled [CORE-CANCEL-001 CORE-CANCEL-002 CORE-CANCEL-003], through $name',
    async (binding) => {
      const client = new Client(host.url, binding);
      const { id } = await client.send('Hi', {}, { configuration: { returnImmediately: true } });
      await agent.call(1);
      const cancelled = await client.result('CancelTask', { id });
      expect(cancelled).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } });
      // The same again has the same effect.
      expect(await client.result('CancelTask', { id })).toEqual(cancelled);
      const other = await client.send('Hi', {}, { configuration: { returnImmediately: true } });
      (await agent.call(2)).finish();
      await host.idle();
      expect(await client.error('CancelTask', { id: other.id })).toMatchObject({
        reason: 'TASK_NOT_CANCELABLE',
        message: 'The task cannot be cancelled: its state is TASK_STATE_COMPLETED.',
      });
      expect(await client.error('CancelTask', { id: 'none' })).toMatchObject({ reason: 'TASK_NOT_FOUND' });
    },
  );

  it.each(BINDINGS)('that fails says why, through $name', async (binding) => {
    const client = new Client(host.url, binding);
    const sent = client.send('Hi');
    (await agent.call(1)).fail(new Error('secret'));
    const { status } = await sent;
    expect(status.state).toBe('TASK_STATE_FAILED');
    expect(status.message!.metadata).toEqual({ code: 'handler_failed' });
    expect(JSON.stringify(status)).not.toContain('secret');
  });
});

describeOnOneAdapter('Messages of A2A on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startA2a(adapter, async function* (query, { history }) {
      if (textOf(query) !== 'tell') {
        yield message(textOf(query));
        return;
      }
      const parts = query.parts.map((part) =>
        part.type === 'text' ? part.text : [part.name, part.mimeType, part.file.size],
      );
      const turns = history.map(({ text }) => text);
      yield message(JSON.stringify({ parts, kwargs: query.kwargs, turns }));
    });
  });
  afterAll(() => host.close());
  const told = async (client: Client, more: Json, params?: Json) =>
    JSON.parse(textsOf(await client.send('tell', more, params))[0]!) as Json;

  describe.each(BINDINGS)('through $name', (binding) => {
    let client: Client;
    beforeAll(() => {
      client = new Client(host.url, binding);
    });

    it('bring texts, data and files, and metadata becomes kwargs', async () => {
      const parts = [
        { text: 'tell' },
        { data: { a: [1] } },
        { data: null },
        { raw: 'YWJj', filename: 'a.txt', mediaType: 'text/plain' },
        { raw: 'YWJj', mediaType: 'image/png' },
        { raw: '' },
      ];
      const metadata = { tone: 'kind', depth: 2 };
      const { parts: read, kwargs } = await told(
        client,
        { parts, metadata, contextId: `c-${binding.name}` },
        {
          metadata: { depth: 1, more: null },
        },
      );
      expect(read).toEqual([
        ...['tell', '{"a":[1]}', 'null'],
        ['a.txt', 'text/plain', 3],
        ['file-5.png', 'image/png', 3],
        ['file-6.bin', 'application/octet-stream', 0],
      ]);
      expect(kwargs).toEqual({ tone: 'kind', depth: 2, more: null, session_id: `c-${binding.name}` });
    });

    it('may have as much metadata as a query of the endpoint', async () => {
      const entries = (count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, 'value']));
      const all = entries(16);
      const task = await client.send('Hello', { metadata: { 'nest-agent-query:metadata': all } });
      expect(task.metadata).toEqual(all);
      const found = await client.result('GetTask', { id: task.id, historyLength: 9 });
      expect((found['history'] as { messageId: string }[])[0]!.messageId).toMatch(/^message-\d+$/);
      const params = {
        message: messageOf('Hello', { metadata: { 'nest-agent-query:metadata': entries(17) } }),
      };
      expect((await client.error('SendMessage', params)).fields).toHaveLength(1);
    });

    it('of a context are turns of a session [CORE-MULTI-002 CORE-MULTI-003]', async () => {
      const contextId = `context-${binding.name}`;
      const first = await client.send('One', { contextId });
      const second = await client.send('tell', { contextId });
      expect([first.contextId, second.contextId]).toEqual([contextId, contextId]);
      expect(second.id).not.toBe(first.id);
      expect(JSON.parse(textsOf(second)[0]!)).toMatchObject({ turns: ['One'] });
    });

    it('without a context begin one, which the task names [CORE-MULTI-001 CORE-MULTI-001a]', async () => {
      const first = await client.send('One');
      expect(first.contextId).toMatch(/^a2a-/);
      expect((await client.send('Two')).contextId).not.toBe(first.contextId);
      const { turns } = await told(client, { contextId: first.contextId });
      expect(turns).toEqual(['One']);
    });

    it('with the same id are one task', async () => {
      const sent = messageOf('Once');
      const [one, two] = await Promise.all([
        client.result('SendMessage', { message: sent }),
        client.result('SendMessage', { message: sent }),
      ]);
      expect(two).toEqual(one);
      expect(
        await client.error('SendMessage', { message: { ...sent, parts: [{ text: 'Else' }] } }),
      ).toMatchObject({
        reason: 'IDEMPOTENCY_CONFLICT',
        domain: 'nest-agent-query',
      });
    });

    it('name a task that exists and has not ended [CORE-MULTI-004 CORE-MULTI-006 CORE-SEND-002]', async () => {
      const { id, contextId } = await client.send('One');
      const error = (more: Json) => client.error('SendMessage', { message: messageOf('Two', more) });
      expect(await error({ taskId: 'none' })).toMatchObject({
        reason: 'TASK_NOT_FOUND',
        message: 'There is no such task, or it is no longer kept.',
      });
      expect(await error({ taskId: id, contextId: 'other' })).toMatchObject({
        fields: ['message.contextId must be that of the task, or absent'],
      });
      for (const more of [{ taskId: id }, { taskId: id, contextId }])
        expect(await error(more)).toMatchObject({
          reason: 'UNSUPPORTED_OPERATION',
          message: expect.stringContaining('The task has ended') as string,
        });
    });

    it('that are not valid are refused with each fault [CORE-ERR-001 CORE-ERR-002 CORE-MULTI-002a DM-MSG-001 DM-MSG-002 DM-PART-001 DM-SERIAL-004]', async () => {
      const sent = { messageId: 5, role: 'ROLE_AGENT', parts: [], contextId: {}, metadata: [] };
      const configuration = { historyLength: -1, returnImmediately: 'maybe' };
      const { fields } = await client.error('SendMessage', { message: sent, configuration });
      expect(fields.sort()).toEqual([
        'configuration.historyLength must be a whole number from 0',
        'configuration.returnImmediately must be true or false',
        'message.contextId must be a string of at most 255 characters',
        'message.messageId must be a string of at most 255 characters',
        'message.metadata must be an object',
        'message.parts must be an array with at least one part',
        'message.role must be "ROLE_USER"',
      ]);
      const parts = [
        {},
        'text',
        { text: 'a', raw: 'YQ==' },
        { text: 1 },
        { url: 'https://a.example/' },
        { text: 'a', mediaType: 1 },
      ];
      expect((await client.error('SendMessage', { message: messageOf('', { parts }) })).fields).toEqual([
        'message.parts[0] must have one of "text", "raw" and "data"',
        'message.parts[1] must have one of "text", "raw" and "data"',
        'message.parts[2] must have one of "text", "raw" and "data"',
        'message.parts[3].text must be a string',
        'message.parts[4].url cannot be fetched by this service: send the content of the file in "raw"',
        'message.parts[5].mediaType must be a string',
      ]);
      const files = [{ raw: 'a b', filename: 'a/b', mediaType: 'none' }];
      const { fields: ofFiles } = await client.error('SendMessage', {
        message: messageOf('', { parts: files }),
      });
      expect(ofFiles.map((each) => each.split(' ')[0])).toEqual([
        'message.parts[0].filename',
        'message.parts[0].mediaType',
        'message.parts[0].raw',
      ]);
    });

    it('may have members that nobody knows [DM-SERIAL-005]', async () => {
      const task = await client.send(
        'One',
        { newMember: {}, taskId: '', contextId: null },
        { tenant: '', more: 1 },
      );
      expect(textsOf(task)).toEqual(['One']);
    });

    it('do not configure push notifications', async () => {
      const configuration = { taskPushNotificationConfig: { url: 'https://a.example/' } };
      expect(await client.error('SendMessage', { message: messageOf('One'), configuration })).toMatchObject({
        reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
      });
    });
  });

  it('of types that the card does not name are refused [CORE-SEND-003]', async () => {
    const other = await startA2a(
      adapter,
      echo,
      {},
      { card: { defaultInputModes: ['text/plain', 'image/*'] } },
    );
    for (const binding of BINDINGS) {
      const client = new Client(other.url, binding);
      const error = (part: Json) =>
        client.error('SendMessage', { message: messageOf('', { parts: [part] }) });
      expect(await error({ raw: 'dGNr', mediaType: 'application/x-unsupported' })).toMatchObject({
        reason: 'CONTENT_TYPE_NOT_SUPPORTED',
        message: 'This agent does not take "application/x-unsupported". It takes text/plain, image/*.',
      });
      expect(await error({ data: {} })).toMatchObject({ reason: 'CONTENT_TYPE_NOT_SUPPORTED' });
      const parts = [
        { text: 'Hi', mediaType: 'text/plain; charset=utf-8' },
        { raw: 'YQ==', mediaType: 'IMAGE/png' },
      ];
      expect(textsOf(await client.send('', { parts }))).toEqual(['Hi']);
    }
    await other.close();
  });

  it('are runs of the endpoint, with the id of the task', async () => {
    const { id } = await new Client(host.url, jsonRpc).send('One');
    expect(await (await get(host.url, `/query/${id}`)).json()).toMatchObject({ id, status: 'completed' });
  });
});
