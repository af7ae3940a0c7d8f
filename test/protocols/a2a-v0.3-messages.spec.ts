import { fileBytes, type HandlerFunction, message, QueryError } from '../../src/index.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { Client, jsonRpc, startA2a, textOf } from './a2a-host.js';
import {
  briefly,
  call,
  messageOf,
  refusal,
  result,
  sending,
  streamEventsOf,
  textsOf,
} from './a2a-v0.3-host.js';

describeOnOneAdapter('A message of A2A 0.3 on %s', (adapter) => {
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
  const begin = async (more = {}) => {
    const { id } = await result(host.url, 'message/send', sending('Hi', more, { blocking: false }));
    return { id, run: await agent.call(agent.calls.length) };
  };

  it('has texts, files, data and metadata [test_message_send_valid_file_part test_message_send_valid_data_part test_message_send_data_part_array test_message_send_valid_multiple_parts]', async () => {
    const parts = [
      { kind: 'text', text: 'Read this', metadata: { a: 1 } },
      { kind: 'file', file: { bytes: 'YQ==', name: 'a.txt', mimeType: 'text/plain' } },
      { kind: 'file', file: { bytes: 'Yg==', name: null } },
      { kind: 'data', data: { b: [1] } },
      { kind: 'data', data: { value: [2] }, metadata: { data_part_compat: true } },
      { kind: 'data', data: { value: [3] } },
    ];
    const given = { ...messageOf('', { parts }), metadata: { lang: 'de' }, contextId: null, extensions: [] };
    const reply = call(host.url, 'message/send', { message: given, configuration: null, metadata: { x: 1 } });
    const run = await agent.call(1);
    const [text, a, b, ...data] = run.query.parts;
    expect([text, ...data]).toEqual(
      ['Read this', '{"b":[1]}', '[2]', '{"value":[3]}'].map((each) => ({ type: 'text', text: each })),
    );
    expect([a, b]).toMatchObject([
      { name: 'a.txt', mimeType: 'text/plain' },
      { name: 'file-3.bin', mimeType: 'application/octet-stream' },
    ]);
    expect((await fileBytes(a as never)).toString()).toBe('a');
    expect(run.query.kwargs).toMatchObject({ lang: 'de', x: 1 });
    run.finish();
    await (await reply).whole();
  });

  it('waits until its task has ended, unless it says that it does not [test_message_send_valid_text]', async () => {
    const { id, run } = await begin();
    expect((await result(host.url, 'tasks/get', { id })).status.state).toBe('working');
    run.finish();
    for (const configuration of [undefined, {}, { blocking: true }, { blocking: null }]) {
      const reply = call(host.url, 'message/send', sending('Hi', {}, configuration));
      const next = await agent.call(agent.calls.length + 1);
      next.emit(message('Hello'));
      next.finish();
      const { result: task } = await (await reply).json<{ result: { status: object } }>();
      expect(task.status).toMatchObject({ state: 'completed' });
    }
  });

  it('begins a context or belongs to one, and its task has the turns before [test_message_send_continue_with_contextid]', async () => {
    const { id, run } = await begin({ contextId: 'c-1' });
    run.emit(message('Hello'));
    run.finish();
    await host.idle();
    expect((await result(host.url, 'tasks/get', { id })).contextId).toBe('c-1');
    const second = await begin({ contextId: 'c-1' });
    expect(second.run.context.history.map(({ text }) => text)).toEqual(['Hello']);
    second.run.finish();
    const other = await begin();
    expect(other.run.context.history).toEqual([]);
    other.run.finish();
  });

  it('is not executed again when its client repeats it', async () => {
    const given = sending('Hi', {}, { blocking: false });
    const first = await result(host.url, 'message/send', given);
    const again = await result(host.url, 'message/send', given);
    expect([again.id, agent.calls.length]).toEqual([first.id, 1]);
    agent.calls[0]!.finish();
  });

  it('is cancelled with its task [test_tasks_cancel_valid test_tasks_cancel_nonexistent]', async () => {
    const { id, run } = await begin();
    const stream = await call(host.url, 'tasks/resubscribe', { id });
    await stream.until('task');
    expect(await result(host.url, 'tasks/cancel', { id })).toMatchObject({
      kind: 'task',
      id,
      status: { state: 'canceled' },
    });
    expect(run.context.signal.aborted).toBe(true);
    expect(briefly(await stream.whole())).toEqual(['task working', 'status canceled (final)']);
    expect(await refusal(host.url, 'tasks/cancel', { id: 'none' })).toMatchObject({ code: -32001 });
    const ended = await begin();
    ended.run.finish();
    await host.idle();
    expect(await refusal(host.url, 'tasks/cancel', { id: ended.id })).toEqual({
      code: -32002,
      reason: 'TASK_NOT_CANCELABLE',
      message: 'The task cannot be cancelled: its state is completed.',
      fields: [],
    });
  });

  it('is followed again after a cut, to its end and also when it has ended [test_tasks_resubscribe test_tasks_resubscribe_nonexistent]', async () => {
    const reply = await call(host.url, 'message/stream', sending('Hi'));
    const run = await agent.call(1);
    run.emit(message('Hel'));
    await reply.until('Hel');
    const { id } = streamEventsOf(reply.text)[0]!;
    reply.cut();
    const again = await call(host.url, 'tasks/resubscribe', { id });
    await again.until('task');
    run.emit(message('lo'));
    run.finish();
    const events = await again.whole();
    expect(briefly(events)).toEqual([
      'task working',
      'artifact lo',
      'artifact  (last)',
      'status completed (final)',
    ]);
    expect(streamEventsOf(events)[0]!.artifacts).toEqual([
      { artifactId: 'text-1', parts: [{ kind: 'text', text: 'Hel' }] },
    ]);
    const late = streamEventsOf(await (await call(host.url, 'tasks/resubscribe', { id })).whole());
    expect(late).toMatchObject([{ kind: 'task', status: { state: 'completed' } }]);
    expect(textsOf(late[0] as never)).toEqual(['Hello']);
    expect(agent.calls.length).toBe(1);
  });

  it('is a task of both versions', async () => {
    const { id, run } = await begin();
    run.emit(message('Hello'));
    run.finish();
    await host.idle();
    const task = await new Client(host.url, jsonRpc).get(id);
    expect(task.artifacts).toEqual([{ artifactId: 'text-1', parts: [{ text: 'Hello' }] }]);
    const { id: newer } = await new Client(host.url, jsonRpc).send(
      'Hi',
      {},
      { configuration: { returnImmediately: true } },
    );
    expect((await result(host.url, 'tasks/cancel', { id: newer })).status.state).toBe('canceled');
  });
});

const KINDS: Record<string, { kind: 'input'; schema?: { type: string } }> = {
  name: { kind: 'input' },
  flag: { kind: 'input', schema: { type: 'boolean' } },
};

const ASKS: HandlerFunction = async function* (query, context) {
  yield message('One moment. ');
  const text = textOf(query);
  if (text === 'fail') throw new QueryError('upstream', 'The model refuses.', { status: 502 });
  const question = { key: text, message: `About ${text}?` };
  const [answer] = await context.ask([
    text === 'sign'
      ? { ...question, kind: 'auth', url: 'https://a.example/' }
      : { ...question, ...KINDS[text]! },
  ]);
  yield message(`${answer!.outcome} ${JSON.stringify(answer!.value)}`);
};

describeOnOneAdapter('A task of A2A 0.3 on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startA2a(adapter, ASKS);
  });
  afterAll(() => host.close());
  const send = (text: string, more = {}) => result(host.url, 'message/send', sending(text, more));

  it('says what it needs, and a message with its id answers [test_message_send_continue_task test_task_history_length]', async () => {
    const { id, contextId, status } = await send('name');
    expect(status).toMatchObject({
      state: 'input-required',
      message: {
        ...{ kind: 'message', role: 'agent', taskId: id, contextId },
        parts: [
          { kind: 'text', text: 'About name?' },
          { kind: 'data', data: { requests: [{ id: 'name', kind: 'input', message: 'About name?' }] } },
        ],
      },
    });
    const ended = await send('Ada', { taskId: id, contextId });
    expect([ended.id, ended.status.state, textsOf(ended)]).toEqual([
      ...[id, 'completed'],
      ['One moment. ', 'answered "Ada"'],
    ]);
    expect(ended.history!.map(({ role, parts }) => [role, parts[0]!.text ?? parts[0]!.data])).toEqual([
      ['user', 'name'],
      ['agent', 'About name?'],
      ['user', { answers: [{ id: 'name', outcome: 'answered', value: 'Ada' }] }],
    ]);
    expect(await refusal(host.url, 'message/send', sending('More', { taskId: id }))).toMatchObject({
      code: -32004,
      message: expect.stringContaining('The task has ended, and takes no more messages.') as string,
    });
    expect(await refusal(host.url, 'message/send', sending('More', { taskId: 'none' }))).toMatchObject({
      code: -32001,
    });
  });

  it('takes answers as data, and says which it needs', async () => {
    const { id } = await send('flag');
    const { status } = await send('Yes', { taskId: id });
    expect([status.state, status.message!.parts.at(-1)]).toEqual([
      'input-required',
      {
        kind: 'text',
        text: 'The message answers nothing of this. Send a part with the data {"answers": [{"id", "outcome": "answered", "value"}]}.',
      },
    ]);
    const answers = [{ id: 'flag', outcome: 'answered', value: true }];
    const parts = [{ kind: 'data', data: { answers } }];
    expect(textsOf(await send('', { taskId: id, parts }))[1]).toBe('answered true');
    const wrong = sending('', {
      taskId: (await send('flag')).id,
      parts: [{ kind: 'data', data: { answers: [{}] } }],
    });
    expect(await refusal(host.url, 'message/send', wrong)).toMatchObject({
      code: -32602,
      fields: [expect.stringContaining('message.parts[0].data.answers[0] must be {"id"') as string],
    });
    await host.agent.cancel('anonymous', (wrong.message as { taskId: string }).taskId);
  });

  it('ends its stream where it asks, and goes on in the stream of the answer [test_auth_required_state_support]', async () => {
    const stream = await (await call(host.url, 'message/stream', sending('sign'))).whole();
    expect(briefly(stream)).toEqual([
      'task submitted',
      'status working',
      'artifact One moment. ',
      'artifact  (last)',
      'status auth-required (final)',
    ]);
    const { id } = streamEventsOf(stream)[0]!;
    const parts = [{ kind: 'data', data: { answers: [{ id: 'sign', outcome: 'declined' }] } }];
    const rest = await (await call(host.url, 'message/stream', sending('', { taskId: id, parts }))).whole();
    expect(briefly(rest)).toEqual([
      'task auth-required',
      'status working',
      'artifact declined undefined',
      'artifact  (last)',
      'status completed (final)',
    ]);
  });

  it('says why it has failed', async () => {
    const task = await send('fail');
    expect(task.status).toMatchObject({
      state: 'failed',
      message: { parts: [{ kind: 'text', text: 'The model refuses.' }], metadata: { code: 'upstream' } },
    });
    const stream = await (await call(host.url, 'message/stream', sending('fail'))).whole();
    expect(streamEventsOf(stream).at(-1)).toMatchObject({
      status: { state: 'failed', message: { parts: [{ text: 'The model refuses.' }] } },
      final: true,
    });
  });

  it('keeps a subscription open while it asks', async () => {
    const { id } = await send('name');
    const reply = await call(host.url, 'tasks/resubscribe', { id });
    await reply.until('task');
    await eventually(() => host.agent.load().followers > 0);
    await send('Ada', { taskId: id });
    expect(briefly(await reply.whole())).toEqual([
      'task input-required',
      'status working',
      'artifact answered "Ada"',
      'artifact  (last)',
      'status completed (final)',
    ]);
  });
});
