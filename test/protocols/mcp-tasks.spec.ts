import { type HandlerFunction, message, type Query, QueryError } from '../../src/index.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { call, resultOf, send, startMcp, TASKS, WITH_TASKS } from './mcp-host.js';

const textOf = ({ parts }: Query) => (parts[0]?.type === 'text' ? parts[0].text : '');

const handler: HandlerFunction = async function* (query, context) {
  const text = textOf(query);
  if (text === 'hang') await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
  if (text === 'fail') throw new QueryError('handler_failed', 'The model is gone.');
  if (text === 'ask') {
    const answers = await context.ask([
      { key: 'q1', kind: 'input', message: 'One?' },
      { key: 'q2', kind: 'input', message: 'Two?' },
    ]);
    yield message(answers.map(({ value }) => value as string).join());
  }
  if (text === 'nested')
    await context.ask([{ key: 'q', kind: 'tool', message: 'Add', toolCallId: 'c', name: 'add' }]);
  yield message(text);
};

const asked = { capabilities: WITH_TASKS };

describeOnOneAdapter('Tasks of MCP, on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    const owner = (request: object) =>
      (request as { headers: Record<string, string> }).headers['x-owner'] ?? 'anonymous';
    const tools = [{}, { name: 'at-once', tasks: false }];
    host = await startMcp(adapter, handler, { owner }, { tools, ttlMs: 60_000 });
  });
  afterAll(() => host.close());
  const begin = async (text: string) => (await call(host.url, { text }, asked))['taskId'] as string;
  const on = async (taskId: string, method = 'get', more = {}, owner = 'anonymous') =>
    resultOf(
      await send(
        host.url,
        `tasks/${method}`,
        { taskId, ...more },
        { ...asked, headers: { 'x-owner': owner } },
      ),
    );
  const until = async (taskId: string, status: string) => {
    await eventually(async () => (await on(taskId))['status'] === status);
    return on(taskId);
  };
  const accept = (answer: string) => ({ action: 'accept', content: { answer } });

  it('are what calls become where the client knows them', async () => {
    const task = await call(host.url, { text: 'hang' }, asked);
    const time = expect.stringMatching(/^\d{4}-.*Z$/);
    expect(task).toMatchObject({
      resultType: 'task',
      taskId: (await host.agent.runs('anonymous', { limit: 1 })).runs[0]!.id,
      status: 'working',
      createdAt: time,
      lastUpdatedAt: time,
      ttlMs: 60_000,
      pollIntervalMs: 1000,
    });
    for (const member of ['result', 'error', 'inputRequests']) expect(task).not.toHaveProperty(member);
    expect(await on(task['taskId'] as string)).toMatchObject({ resultType: 'complete', status: 'working' });
    const cancelled = await on(task['taskId'] as string, 'cancel');
    expect(Object.keys(cancelled).sort()).toEqual(['_meta', 'resultType']);
    expect((await on(task['taskId'] as string))['status']).toBe('cancelled');
    expect(await on(task['taskId'] as string, 'cancel')).toMatchObject({ resultType: 'complete' });
  });

  it('have the result of the call at their end', async () => {
    expect(await until(await begin('Hello'), 'completed')).toMatchObject({
      result: { resultType: 'complete', content: [{ type: 'text', text: 'Hello' }] },
    });
    expect(await until(await begin('fail'), 'completed')).toMatchObject({
      result: { isError: true, content: [{ type: 'text', text: 'The model is gone.' }] },
    });
  });

  it('ask, and go on when all is answered', async () => {
    const taskId = await begin('ask');
    const { inputRequests } = await until(taskId, 'input_required');
    expect(inputRequests).toMatchObject({
      q1: { method: 'elicitation/create', params: { mode: 'form', message: 'One?' } },
      q2: { method: 'elicitation/create', params: { mode: 'form', message: 'Two?' } },
    });
    const wrong = { q1: { action: 'accept', content: { answer: 1 } } };
    expect(await on(taskId, 'update', { inputResponses: wrong })).toMatchObject({ error: { code: -32602 } });
    const some = { q2: accept('2'), other: accept('x') };
    expect(await on(taskId, 'update', { inputResponses: some })).toMatchObject({ resultType: 'complete' });
    const left = await on(taskId);
    expect([left['status'], Object.keys(left['inputRequests'] as object)]).toEqual([
      'input_required',
      ['q1'],
    ]);
    await on(taskId, 'update', { inputResponses: { q1: accept('1') } });
    expect(await until(taskId, 'completed')).toMatchObject({
      result: { content: [{ type: 'text', text: '1,2ask' }] },
    });
  });

  it('work on while they ask what this client cannot show', async () => {
    const taskId = await begin('nested');
    await eventually(async () => (await host.agent.find('anonymous', taskId)).status === 'input_required');
    expect(await on(taskId)).toMatchObject({
      status: 'working',
      statusMessage: 'The agent waits for an answer that it gets elsewhere.',
    });
    await host.agent.inputs.answer('anonymous', taskId, [{ id: 'q', outcome: 'declined' }]);
    await until(taskId, 'completed');
  });

  it('ask only a client that can ask', async () => {
    const taskId = await begin('ask');
    await until(taskId, 'input_required');
    const capabilities = { extensions: { [TASKS]: {} } };
    expect(await resultOf(await send(host.url, 'tasks/get', { taskId }, { capabilities }))).toMatchObject({
      status: 'working',
    });
  });

  it.each(['get', 'update', 'cancel'])('are not there for another owner (%s)', async (method) => {
    const taskId = await begin('Hello');
    const missing = { error: { code: -32602, message: 'There is no such task, or it is no longer kept.' } };
    expect(await on(taskId, method, {}, 'ann')).toMatchObject(missing);
    expect(await on('none', method)).toMatchObject(missing);
  });

  it('are not there for a client that does not know them', async () => {
    const taskId = await begin('Hello');
    const reply = await send(host.url, 'tasks/get', { taskId });
    expect(reply.status).toBe(400);
    expect(await resultOf(reply)).toMatchObject({
      error: {
        code: -32021,
        data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
      },
    });
    expect(await call(host.url, { text: 'Hello' })).toMatchObject({ resultType: 'complete' });
  });

  it('are not made by a tool that makes none', async () => {
    const params = { name: 'at-once', arguments: { text: 'Hello' } };
    expect(await resultOf(await send(host.url, 'tools/call', params, asked))).toMatchObject({
      resultType: 'complete',
      content: [{ type: 'text', text: 'Hello' }],
    });
  });
});
