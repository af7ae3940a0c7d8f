import http from 'node:http';
import { message, QueryError, type QueryModuleOptions } from '../../src/index.js';
import type { Reply } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { type Call, ScriptedAgent } from '../support/scripted-agent.js';
import { post, startOpenAi } from './openai-host.js';

/** A query with a file that is too long for memory. @param last the end of its base64 */
const withFile = (last: string) => {
  const data = `data:text/plain;base64,${'YWJj'.repeat(500_000)}${last}`;
  const file = { type: 'input_file', filename: 'a.txt', file_data: data };
  return { input: [{ role: 'user', content: [file] }], stream: true };
};

/** The routes, each with a body for a stream and one for an answer at once. */
const ROUTES = [
  ['responses', { input: 'Hi', stream: true }],
  ['responses', { input: 'Hi' }],
  ['chat/completions', { messages: [{ role: 'user', content: 'Hi' }], stream: true }],
  ['chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
] as const;
const [[PATH, BODY]] = ROUTES;

const attempt = (count: number, headers: object = {}) => ({
  'x-stainless-retry-count': `${count}`,
  ...headers,
});

describeOnOneAdapter('A request of OpenAI that its client repeats by itself, on %s,', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  const start = async (options: Partial<QueryModuleOptions> = {}) => {
    agent = new ScriptedAgent();
    host = await startOpenAi(adapter, agent.handler, options);
  };
  beforeEach(() => start());
  afterEach(async () => {
    for (const call of agent.calls) call.finish();
    await host.idle();
    await host.close();
  });
  const connections = () =>
    new Promise<number>((resolve) =>
      (host.app.getHttpServer() as http.Server).getConnections((_, count) => resolve(count)),
    );

  /** Sends a request and leaves it when it is executed. */
  const lose = async (path: string, body: object, headers: object): Promise<Call> => {
    const calls = agent.calls.length;
    const all = { 'content-type': 'application/json', connection: 'close', ...headers };
    const sent = http.request(`${host.url}/v1/${path}`, { method: 'POST', agent: false, headers: all });
    sent.on('error', () => undefined);
    const json = JSON.stringify(body);
    sent.setHeader('content-length', Buffer.byteLength(json));
    sent.end(json);
    const call = await agent.call(calls + 1);
    sent.destroy();
    await eventually(async () => (await connections()) === 0);
    return call;
  };
  const send = (path: string, body: object, headers: object): Promise<Reply> =>
    post(host.url, path, body, {
      connection: 'close',
      'content-length': Buffer.byteLength(JSON.stringify(body)),
      ...headers,
    });

  it.each(ROUTES)('gets the whole answer of the run that was lost: %s %j', async (path, body) => {
    const call = await lose(path, body, attempt(0));
    call.emit(message('One '));
    const repeat = send(path, body, attempt(1, { traceparent: 'of this attempt' }));
    call.emit(message('two'));
    call.finish();
    const text = await (await repeat).whole();
    expect(text).toContain('One ');
    expect(text).toContain('two');
    expect(agent.calls).toHaveLength(1);
  });

  it.each(ROUTES)('learns that the run has failed meanwhile: %s %j', async (path, body) => {
    const call = await lose(path, body, attempt(0));
    call.fail(new QueryError('handler_failed', 'The model is gone.'));
    await host.idle();
    expect(await (await send(path, body, attempt(1))).whole()).toContain('The model is gone.');
    expect(agent.calls).toHaveLength(1);
  });

  /** Sends a request that must be a run of its own. */
  const sendNew = async (headers: object, body: object = BODY, path: string = PATH): Promise<void> => {
    const calls = agent.calls.length;
    const reply = send(path, body, headers);
    (await agent.call(calls + 1)).finish();
    await (await reply).whole();
  };

  it('is a run of its own if it is no repeat, or its client did not say so', async () => {
    await lose(PATH, BODY, {});
    await sendNew(attempt(1));
    await lose(PATH, BODY, attempt(0));
    await sendNew(attempt(0));
    await sendNew({});
  });

  it.each<[string, object, object?, string?]>([
    ['credential', { authorization: 'Bearer other' }],
    ['cookie', { cookie: 'user=other' }],
    ['address behind a proxy', { 'x-forwarded-for': '192.0.2.1' }],
    ['body', {}, { ...BODY, input: 'Ho' }],
    ['kwargs', {}, { ...BODY, kwargs: { a: 1 } }],
    ['route', {}, ROUTES[2][1], ROUTES[2][0]],
    ['idempotency key', { 'idempotency-key': 'mine' }],
  ])('does not find the run of another %s', async (_, headers, body = BODY, path = PATH) => {
    await lose(PATH, BODY, attempt(0));
    await sendNew(attempt(1, headers), body, path);
  });

  it('finds the run of the same file only', async () => {
    const call = await lose(PATH, withFile('YWJj'), attempt(0));
    await sendNew(attempt(1), withFile('YWJk'));
    const repeat = send(PATH, withFile('YWJj'), attempt(1));
    call.finish();
    await (await repeat).whole();
    expect(agent.calls).toHaveLength(2);
  });

  it('does not find the run of another owner', async () => {
    await host.close();
    const owners = ['one', 'two', 'one'];
    await start({ owner: () => owners.shift() });
    const first = await lose(PATH, BODY, attempt(0));
    await sendNew(attempt(1));
    const again = send(PATH, BODY, attempt(1));
    first.finish();
    await (await again).whole();
    expect(agent.calls).toHaveLength(2);
  });

  it('finds each run once: a run that was lost again is found again', async () => {
    const first = await lose(PATH, BODY, attempt(0));
    const second = await lose(PATH, BODY, attempt(0));
    first.emit(message('first'));
    second.emit(message('second'));
    const newest = await send(PATH, BODY, attempt(1));
    expect(await newest.until('"delta"')).toContain('"delta":"second"');
    const older = await send(PATH, BODY, attempt(1));
    expect(await older.until('"delta"')).toContain('"delta":"first"');
    await sendNew(attempt(1));
    older.cut();
    newest.cut();
    await eventually(async () => (await connections()) === 0);
    const found = await send(PATH, BODY, attempt(2));
    expect(await found.until('"delta"')).toMatch(/"delta":"(first|second)"/);
    expect(agent.calls).toHaveLength(3);
    found.cut();
  });

  it('is a run of its own if the answer before was received, or its run was cancelled', async () => {
    await sendNew(attempt(0));
    await sendNew(attempt(1));
    await host.close();
    await start({ runs: { disconnect: 'cancel' } });
    const cancelled = await lose(PATH, BODY, attempt(0));
    await cancelled.stopped;
    await host.idle();
    await sendNew(attempt(1));
  });
});
