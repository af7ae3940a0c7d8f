import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HandlerFunction, message, type Question } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { answer } from '../support/answers.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import {
  BINDINGS,
  briefly,
  Client,
  type Json,
  messageOf,
  rest,
  startA2a,
  streamEventsOf,
  textOf,
  textsOf,
} from './a2a-host.js';

const QUESTIONS: Record<string, Question[]> = {
  name: [{ key: 'name', kind: 'input', message: 'Your name?' }],
  refund: [
    {
      ...{ key: 'refund', kind: 'approval', message: 'Refund 120 EUR?', editable: true },
      ...{ toolCallId: 'call_9', name: 'refund', arguments: { amount: 120 } },
    },
  ],
  quarter: [
    {
      key: 'quarter',
      kind: 'input',
      message: 'Which quarter?',
      schema: { type: 'string', enum: ['Q1', 'Q2'] },
    },
  ],
  login: [{ key: 'login', kind: 'auth', message: 'Sign in', url: 'https://a.example/login' }],
};
QUESTIONS['two'] = [...QUESTIONS['name']!, ...QUESTIONS['login']!];

const handler: HandlerFunction = Object.assign(
  async function* (query, context) {
    if (!context.resumed) yield message('One moment. ');
    const answers = await context.ask(QUESTIONS[textOf(query)]!, { checkpoint: 'asked' });
    yield message(`Thanks: ${JSON.stringify(answers.map(({ value, outcome }) => value ?? outcome))}`);
  } as HandlerFunction,
  { restarts: 1 },
);

const dataOf = (...answers: Json[]) => ({ parts: [{ data: { answers } }] });
const answered = (id: string, value: unknown) => ({ id, outcome: 'answered', value });

describeOnOneAdapter('A task of A2A that asks on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startA2a(adapter, handler);
  });
  afterAll(() => host.close());
  const cancelAll = async () => {
    for (const { id } of (await host.agent.runs('anonymous', { status: 'input_required' })).runs)
      await host.agent.cancel('anonymous', id);
    await host.idle();
  };
  afterEach(cancelAll);

  describe.each(BINDINGS)('through $name', (binding) => {
    let client: Client;
    beforeAll(() => {
      client = new Client(host.url, binding);
    });

    it('says what it needs, and takes a text as the answer [CORE-EXECUTION-MODE-001 CORE-MULTI-005 CORE-HIST-005 CORE-HIST-006]', async () => {
      const task = await client.send('name');
      expect(task.status).toMatchObject({
        state: 'TASK_STATE_INPUT_REQUIRED',
        message: {
          role: 'ROLE_AGENT',
          taskId: task.id,
          contextId: task.contextId,
          parts: [
            { text: 'Your name?' },
            {
              data: { requests: [{ id: 'name', kind: 'input', message: 'Your name?' }] },
              mediaType: 'application/json',
            },
          ],
        },
      });
      expect(textsOf(task)).toEqual(['One moment. ']);
      const ended = await client.send('Ada', { taskId: task.id });
      expect([ended.id, ended.contextId, ended.status.state]).toEqual([
        task.id,
        task.contextId,
        'TASK_STATE_COMPLETED',
      ]);
      expect(textsOf(ended)).toEqual(['One moment. ', 'Thanks: ["Ada"]']);
      expect(ended.history!.map(({ role, parts }) => [role, parts[0]!.text ?? parts[0]!.data])).toEqual([
        ['ROLE_USER', 'name'],
        ['ROLE_AGENT', 'Your name?'],
        ['ROLE_USER', { answers: [answered('name', 'Ada')] }],
      ]);
      const { history } = await client.get(task.id, { historyLength: 2 });
      expect(history).toEqual(ended.history!.slice(1));
    });

    it('ends the stream, and a stream of the answer goes on from there', async () => {
      const stream = await (await client.stream('quarter')).whole();
      expect(briefly(stream)).toEqual([
        'task SUBMITTED',
        'status WORKING',
        'artifact One moment. ',
        'status INPUT_REQUIRED',
      ]);
      const { id } = streamEventsOf(stream)[0]!.task!;
      const next = await (await client.stream('Q2', { taskId: id })).whole();
      expect(briefly(next)).toEqual([
        'task INPUT_REQUIRED',
        'status WORKING',
        'artifact Thanks: ["Q2"]',
        'status COMPLETED',
      ]);
      expect(textsOf(streamEventsOf(next)[0]!.task!)).toEqual(['One moment. ']);
    });

    it('is answered with data, and a text answers nothing where it could mean anything', async () => {
      const { id, status } = await client.send('refund');
      const unanswered = await client.send('Yes, do it', { taskId: id });
      expect(unanswered.status).toMatchObject({ state: status.state, timestamp: status.timestamp });
      expect(unanswered.status.message!.parts.map(({ text = 'data' }) => text)).toEqual([
        'Refund 120 EUR?',
        'data',
        expect.stringContaining(
          'The message answers nothing of this. Send a part with the data {"answers":',
        ) as string,
      ]);
      const stream = await (await client.stream('Yes', { taskId: id })).whole();
      expect(briefly(stream)).toEqual(['task INPUT_REQUIRED']);
      const value = { approved: true, arguments: { amount: 100 } };
      const ended = await client.send('', { taskId: id, ...dataOf(answered('refund', value)) });
      expect(textsOf(ended)[1]).toBe(`Thanks: [${JSON.stringify(value)}]`);
    });

    it('that needs a person to sign in says so [AUTH-INTASK-001 AUTH-INTASK-002 AUTH-INTASK-003 AUTH-INTASK-004 AUTH-INTASK-006]', async () => {
      const { id, status } = await client.send('login');
      expect(status.state).toBe('TASK_STATE_AUTH_REQUIRED');
      expect(status.message!.parts[0]).toEqual({ text: 'Sign in' });
      expect(JSON.stringify(status.message!.parts[1])).toContain('"url":"https://a.example/login"');
      const ended = await client.send('', { taskId: id, ...dataOf({ id: 'login', outcome: 'declined' }) });
      expect(textsOf(ended)[1]).toBe('Thanks: ["declined"]');
    });

    it('may be answered request by request', async () => {
      const { id, status } = await client.send('two');
      expect(status.state).toBe('TASK_STATE_INPUT_REQUIRED');
      const stream = await client.stream('', { taskId: id, ...dataOf(answered('name', 'Ada')) });
      expect(briefly(await stream.whole())).toEqual(['task INPUT_REQUIRED', 'status AUTH_REQUIRED']);
      expect((await client.get(id)).status.state).toBe('TASK_STATE_AUTH_REQUIRED');
      const ended = await client.send('', { taskId: id, ...dataOf(answered('login', {})) });
      expect(textsOf(ended)[1]).toBe('Thanks: ["Ada",{}]');
    });

    it('takes the same answer again, and no other', async () => {
      const { id } = await client.send('name');
      const ended = await client.send('Ada', { taskId: id });
      expect(await client.send('Ada', { taskId: id })).toEqual(ended);
      const error = (more: Json) =>
        client.error('SendMessage', { message: messageOf('Eve', { taskId: id, ...more }) });
      expect((await error({})).reason).toBe('UNSUPPORTED_OPERATION');
      expect((await error(dataOf(answered('name', 'Eve')))).reason).toBe('UNSUPPORTED_OPERATION');
    });

    it.each([
      [
        'an unknown request',
        dataOf(answered('other', 1)),
        '[0] must be {"id", "outcome": "answered" or "declined", "value"}, with the id of a request of the task',
      ],
      [
        'no answer',
        dataOf(null as never),
        '[0] must be {"id", "outcome": "answered" or "declined", "value"}, with the id of a request of the task',
      ],
      [
        'two answers',
        dataOf(answered('quarter', 'Q1'), answered('quarter', 'Q2')),
        '[1] must be the only answer to its request',
      ],
      [
        'a value that the schema refuses',
        dataOf(answered('quarter', 'Q5')),
        '[0].value must be one of ["Q1","Q2"]',
      ],
    ])('refuses %s', async (_, more, fault) => {
      const { id } = await client.send('quarter');
      const { fields } = await client.error('SendMessage', {
        message: messageOf('', { taskId: id, ...more }),
      });
      expect(fields).toEqual([`message.parts[0].data.answers${fault}`]);
      expect((await client.get(id)).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    });

    it('can be subscribed to until somebody has answered, and listed, and cancelled', async () => {
      const { id } = await client.send('name');
      const reply = await client.subscribe(id);
      await reply.until('task');
      await answer(host.url, id, { id: 'name', outcome: 'answered', value: 'Bob' });
      expect(briefly(await reply.whole())).toEqual([
        'task INPUT_REQUIRED',
        'status WORKING',
        'artifact Thanks: ["Bob"]',
        'status COMPLETED',
      ]);
      const other = await client.send('login');
      const listed = async (status: string) =>
        (await client.result<{ tasks: Json[] }>('ListTasks', { status })).tasks.map((task) => task['id']);
      expect(await listed('TASK_STATE_AUTH_REQUIRED')).toEqual([other.id]);
      expect(await listed('TASK_STATE_INPUT_REQUIRED')).toEqual([]);
      expect(await client.result('CancelTask', { id: other.id })).toMatchObject({
        status: { state: 'TASK_STATE_CANCELED' },
      });
    });
  });
});

describeOnOneAdapter('Tasks of A2A on %s', (adapter) => {
  it('are answered after a restart of the service', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'a2a-'));
    const start = async () =>
      startA2a(adapter, handler, { store: await openStore(`file:${join(directory, 'db')}`) });
    let host = await start();
    const { id } = await new Client(host.url, rest).send('name');
    await host.close();
    host = await start();
    const client = new Client(host.url, rest);
    expect((await client.get(id)).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(textsOf(await client.send('Ada', { taskId: id }))).toEqual(['One moment. ', 'Thanks: ["Ada"]']);
    await host.close();
    await rm(directory, { recursive: true });
  });

  it('that work and ask nothing take no message', async () => {
    const host = await startA2a(adapter, async function* (_, { signal }) {
      yield message('Hello');
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    const client = new Client(host.url, rest);
    const { id } = await client.send('Hi', {}, { configuration: { returnImmediately: true } });
    await eventually(async () => (await client.get(id)).status.state === 'TASK_STATE_WORKING');
    expect(await client.error('SendMessage', { message: messageOf('More', { taskId: id }) })).toMatchObject({
      reason: 'UNSUPPORTED_OPERATION',
      message: expect.stringContaining('The task asks nothing at present.') as string,
    });
    await client.result('CancelTask', { id });
    await host.close();
  });
});
