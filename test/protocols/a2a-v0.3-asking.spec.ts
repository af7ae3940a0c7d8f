import { type HandlerFunction, message, QueryError } from '../../src/index.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { startA2a, textOf } from './a2a-host.js';
import { briefly, call, refusal, result, sending, streamEventsOf, textsOf } from './a2a-v0.3-host.js';

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

  it('says what it needs, and a message with its id answers [test_message_send_continue_task test_task_history_length test_unsupported_operation_error_32004]', async () => {
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

  it('ends its stream where it asks, and goes on in the stream of the answer', async () => {
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
