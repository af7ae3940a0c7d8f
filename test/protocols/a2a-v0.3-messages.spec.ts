import { fileBytes, message } from '../../src/index.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { Client, jsonRpc, startA2a } from './a2a-host.js';
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

  it('is cancelled with its task [test_tasks_cancel_valid test_tasks_cancel_nonexistent test_core_method_mapping_compliance]', async () => {
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

  it('is followed again after a cut, to its end and also when it has ended [test_tasks_resubscribe test_streaming_connection_resilience]', async () => {
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
