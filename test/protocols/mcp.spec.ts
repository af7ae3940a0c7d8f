import {
  file,
  type HandlerFunction,
  log,
  message,
  progress,
  type Query,
  QueryError,
  result,
  source,
} from '../../src/index.js';
import { get } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { OperatorLog } from '../support/operator-log.js';
import {
  call,
  initialize,
  messagesOf,
  resultOf,
  send,
  sendLegacy,
  startMcp,
  WITH_TASKS,
} from './mcp-host.js';

const textOf = ({ parts }: Query) => (parts[0]?.type === 'text' ? parts[0].text : '');

const handler: HandlerFunction = async function* (query, { signal }) {
  const text = textOf(query);
  if (text === 'fail') throw new QueryError('handler_failed', 'The model is gone.');
  if (text.endsWith('after a part')) yield message('one two ');
  if (text.startsWith('fail with a result')) yield result({ sum: 3 });
  if (text.startsWith('fail with'))
    throw new QueryError('quota_exceeded', 'The quota is used up.', { status: 402 });
  if (text.startsWith('hang')) yield log('Waiting');
  if (text.startsWith('hang')) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  if (text === 'structured') yield result({ sum: 3 });
  if (text === 'files') {
    yield message('Here.');
    yield file({ name: 'a.png', mimeType: 'image/png', content: Buffer.from('png') });
    yield file({ name: 'a.txt', mimeType: 'text/plain', content: Buffer.from('text') });
    yield file({ name: 'a.bin', mimeType: 'application/octet-stream', content: Buffer.from('bin') });
    yield file({ name: 'big.bin', mimeType: 'application/octet-stream', content: Buffer.alloc(2 ** 20 + 1) });
    yield source('https://example.com/', { title: 'Example' });
  }
  if (text === 'progress') {
    yield log('Looking');
    await new Promise(setImmediate);
    yield progress(1, { total: 2, unit: 'files', label: 'Reading' });
    await new Promise(setImmediate);
    yield message('Done.');
    await new Promise(setImmediate);
  }
  if (text === 'large' && query.parts[1]?.type === 'file')
    yield message(String((await query.parts[1].file.text()).length));
  if (text === 'echo') {
    for (const part of query.parts.slice(1))
      if (part.type === 'file') yield message(`${part.name} ${part.mimeType} ${await part.file.text()} `);
    yield message(JSON.stringify(query.kwargs));
  }
  if (text === 'Hello') yield* [message('Hello, '), message('world')];
};

describeOnOneAdapter('The tools of MCP, on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startMcp(adapter, handler);
  });
  afterAll(() => host.close());
  const legacy = (method: string, params: object = {}, headers = {}) =>
    sendLegacy(host.url, { id: 1, method, params }, headers);

  it('are told to a client of 2026-07-28 without a handshake', async () => {
    const discovered = await resultOf(await send(host.url, 'server/discover'));
    expect(discovered).toMatchObject({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
    });
    const { tools } = await resultOf(await send(host.url, 'tools/list'));
    expect(tools).toMatchObject([{ name: 'query', inputSchema: { type: 'object', required: ['text'] } }]);
  });

  it('are told to a client of 2025-11-25 after its handshake', async () => {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'c', version: '1' },
    };
    const reply = await legacy('initialize', params);
    expect(await resultOf(reply)).toMatchObject({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'nest-agent-query-mcp' },
    });
    const { tools } = await resultOf(await legacy('tools/list'));
    expect(tools).toMatchObject([{ name: 'query' }]);
  });

  it('answer with the text of the run, in both versions', async () => {
    const answer = { content: [{ type: 'text', text: 'Hello, world' }] };
    const modern = await call(host.url, { text: 'Hello' });
    expect(modern).toMatchObject({ resultType: 'complete', ...answer });
    expect(modern).not.toHaveProperty('isError');
    const old = await resultOf(await legacy('tools/call', { name: 'query', arguments: { text: 'Hello' } }));
    expect(old).toMatchObject(answer);
    const { runs } = await host.agent.runs('anonymous', { limit: 2 });
    expect([old, modern]).toMatchObject(runs.map(({ id }) => ({ _meta: { runId: id } })));
  });

  it('pass on files and kwargs', async () => {
    const files = [
      { name: 'a.csv', mimeType: 'text/csv', base64: Buffer.from('1,2').toString('base64') },
      { name: 'b.txt', mimeType: 'text/plain', base64: Buffer.from('b').toString('base64') },
    ];
    const { content } = await call(host.url, { text: 'echo', files, kwargs: { session_id: 's', deep: [1] } });
    expect(content).toEqual([
      { type: 'text', text: 'a.csv text/csv 1,2 b.txt text/plain b {"session_id":"s","deep":[1]}' },
    ]);
  });

  it('take large files without holding them in memory, and free them', async () => {
    const base64 = Buffer.alloc(2 ** 22, 'a').toString('base64');
    const files = [{ name: 'a.txt', mimeType: 'text/plain', base64 }];
    const used = call(host.url, { text: 'large', files });
    await eventually(() => host.agent.spoolUse().bytes === 2 ** 22);
    expect(await used).toMatchObject({ content: [{ type: 'text', text: String(2 ** 22) }] });
    const task = await call(host.url, { text: 'large', files }, { capabilities: WITH_TASKS });
    expect(task).toMatchObject({ resultType: 'task' });
    const none = { name: 'none', arguments: { text: 'large', files } };
    await (await send(host.url, 'tools/call', none)).whole();
    await host.idle();
    await eventually(() => host.agent.spoolUse().files === 0);
    expect((await host.agent.find('anonymous', task['taskId'] as string)).status).toBe('completed');
  });

  it('answer with files as images, texts and contents, and with links to larger ones', async () => {
    const { content } = await call(host.url, { text: 'files' });
    const at = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/query\/[\w-]+\/files\/\w{64}$/);
    expect(content).toEqual([
      { type: 'text', text: 'Here.' },
      { type: 'image', data: 'cG5n', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: at, mimeType: 'text/plain', text: 'text' } },
      { type: 'resource', resource: { uri: at, mimeType: 'application/octet-stream', blob: 'Ymlu' } },
      {
        type: 'resource_link',
        uri: at,
        name: 'big.bin',
        mimeType: 'application/octet-stream',
        size: 2 ** 20 + 1,
      },
      { type: 'resource_link', uri: 'https://example.com/', name: 'Example' },
    ]);
    const { pathname } = new URL((content as { uri: string }[])[4]!.uri);
    const bytes = await (await get(host.url, pathname)).whole();
    expect(bytes).toHaveLength(2 ** 20 + 1);
  });

  it('answer with the structured result of a run', async () => {
    expect(await call(host.url, { text: 'structured' })).toMatchObject({
      structuredContent: { sum: 3 },
      content: [{ type: 'text', text: '{"sum":3}' }],
    });
  });

  it('answer a run that failed with a result that says so', async () => {
    expect(await call(host.url, { text: 'fail' })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'The model is gone.' }],
      _meta: { code: 'handler_failed' },
    });
  });

  const quota = { type: 'text', text: 'The quota is used up.' };
  const part = { type: 'text', text: 'one two ' };
  it.each([
    ['fail with a sentence after a part', [quota, part]],
    ['fail with a result after a part', [quota, part]],
    ['fail with a result', [quota, { type: 'text', text: '{"sum":3}' }]],
  ])('begin with the reason where a run has answered a part: %s', async (text, content) => {
    const params = { name: 'query', arguments: { text } };
    const task = await call(host.url, { text }, { capabilities: WITH_TASKS });
    const taskOf = () =>
      send(host.url, 'tasks/get', { taskId: task['taskId'] }, { capabilities: WITH_TASKS });
    let state = await resultOf(await taskOf());
    await eventually(async () => (state = await resultOf(await taskOf()))['status'] === 'completed');
    for (const answer of [
      await call(host.url, { text }),
      await resultOf(await legacy('tools/call', params)),
      state['result'],
    ]) {
      expect(answer).toMatchObject({ isError: true, content, _meta: { code: 'quota_exceeded' } });
      expect(answer).not.toHaveProperty('structuredContent');
    }
  });

  it('begin with the reason where a run was cancelled after a part of its answer', async () => {
    const answer = call(host.url, { text: 'hang after a part' });
    const found = async () => (await host.agent.runs('anonymous', { limit: 1 })).runs[0]!;
    await eventually(async () => (await found()).status === 'running');
    await host.agent.cancel('anonymous', (await found()).id);
    expect(await answer).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'The run was cancelled.' }, part],
    });
  });

  it.each(['modern', 'legacy'])('tell progress to a client (%s) that has asked for it', async (era) => {
    const params = { name: 'query', arguments: { text: 'progress' } };
    const reply =
      era === 'modern'
        ? await send(host.url, 'tools/call', params, { meta: { progressToken: 'p' } })
        : await legacy('tools/call', { ...params, _meta: { progressToken: 'p' } });
    const told = (await messagesOf(reply)).slice(0, -1);
    expect(told.map(({ method }) => method)).toEqual(told.map(() => 'notifications/progress'));
    const notices = told.map((each) => each['params'] as { message: string; progress: number });
    expect(notices.map((each) => each.message)).toEqual(['Looking', 'Reading: 1 of 2 files', 'Done.']);
    expect(notices.map((each) => each.progress)).toEqual([1, 2, 3]);
    expect(notices[0]).toHaveProperty('progressToken', 'p');
  });

  const hangs = { name: 'query', arguments: { text: 'hang' } };
  const newest = async () => (await host.agent.runs('anonymous', { limit: 1 })).runs[0]!;

  it('cancel the run of a client of 2026-07-28 that closes its response', async () => {
    const reply = await send(host.url, 'tools/call', hangs, { meta: { progressToken: 1 } });
    await reply.until('progress');
    reply.cut();
    await host.idle();
    expect((await newest()).status).toBe('cancelled');
  });

  it('attach a call with a known idempotency key to the run that it started', async () => {
    const asked = { headers: { 'idempotency-key': 'k1' } };
    const first = await call(host.url, { text: 'Hello' }, asked);
    expect(await call(host.url, { text: 'Hello' }, asked)).toEqual(first);
    expect(await call(host.url, { text: 'Other' }, asked)).toMatchObject({
      isError: true,
      _meta: { code: 'idempotency_conflict' },
    });
  });

  it('end a call when the service stops', async () => {
    const stopping = await startMcp(adapter, handler);
    const reply = await send(stopping.url, 'tools/call', hangs, { meta: { progressToken: 1 } });
    await reply.until('progress');
    await stopping.close();
    expect(await resultOf(reply)).toMatchObject({ isError: true, _meta: { code: 'interrupted' } });
  });

  it('write keep-alives into the stream of a silent call, as often as the endpoint does', async () => {
    // The default of the SDK comes after the run has ended.
    const options = { streams: { keepAliveMs: 10 }, runs: { timeoutMs: 5_000 } };
    const silent = await startMcp(adapter, handler, options);
    const old = await sendLegacy(silent.url, { id: 1, method: 'tools/call', params: hangs });
    await old.until((text) => text.endsWith('\n\n: keepalive\n\n'));
    // Until it is told something, a client of 2026-07-28 may still get a JSON document.
    const modern = await send(silent.url, 'tools/call', hangs, { meta: { progressToken: 1 } });
    await modern.until('progress');
    await modern.until((text) => text.endsWith(': keepalive\n\n'));
    for (const reply of [old, modern]) reply.cut();
    await silent.close();
  });

  it('log nothing where a client of 2025-11-25 notifies them', async () => {
    const log = OperatorLog.of(host.app);
    for (const method of ['notifications/initialized', 'notifications/roots/list_changed'])
      expect((await sendLegacy(host.url, { method })).status).toBe(202);
    expect(log.troubles).toEqual([]);
  });

  it('let the run of a client of 2025-11-25 go on for the time of grace, and cancel it at its wish', async () => {
    const session = await initialize(host.url);
    const reply = await sendLegacy(host.url, { id: 'c1', method: 'tools/call', params: hangs }, session);
    await eventually(async () => (await newest()).status === 'running');
    reply.cut();
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 'c1' } };
    const others = await initialize(host.url);
    expect((await sendLegacy(host.url, cancelled, others)).status).toBe(202);
    expect((await newest()).status).toBe('running');
    expect((await sendLegacy(host.url, cancelled, session)).status).toBe(202);
    expect((await newest()).status).toBe('cancelled');
    await host.idle();
  });
});
