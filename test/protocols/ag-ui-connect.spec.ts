import { message, toolCall, toolResult } from '../../src/index.js';
import { asks, REFUND } from '../support/asking.js';
import { get, request } from '../support/client.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { dataOf, inputOf, post, runIdOf, startAgUi, typesOf } from './ag-ui-host.js';

interface Message {
  id: string;
  role: string;
  content: unknown;
}

describeOnOneAdapter('A thread of AG-UI that is connected to again, on %s', (adapter) => {
  let agent: ScriptedAgent;
  let host: Host;
  beforeEach(async () => {
    agent = new ScriptedAgent();
    const owner = ({ headers }: { headers: Record<string, string> }) => headers['x-caller'];
    host = await startAgUi(adapter, agent.handler, { owner });
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  const connect = (threadId = 't', headers = {}) => {
    const input = inputOf('', { threadId, runId: 'connect-1', messages: [] });
    return request(host.url, { path: '/ag-ui/connect', headers }, JSON.stringify(input));
  };
  const say = (text: string, more: object = {}) => post(host, inputOf(text, { threadId: 't', ...more }));
  const snapshotOf = (data: string[]) =>
    (JSON.parse(data.find((each) => each.includes('MESSAGES_SNAPSHOT'))!) as { messages: Message[] })
      .messages;

  it('has its messages, and ends if no run goes on', async () => {
    const reply = await say('Hi');
    const call = await agent.callFor('Hi');
    call.emit(
      message('Let me see'),
      toolCall('c', 'search', { q: 'ü' }),
      toolResult('c', [1]),
      message('Done.'),
    );
    call.finish();
    await reply.whole();
    const run = runIdOf(reply);
    const events = (await (await connect()).allEvents()).map(({ id, data }) => [
      id,
      data.replaceAll(run, '<run>'),
    ]);
    expect(events).toEqual([
      [undefined, '{"type":"RUN_STARTED","threadId":"t","runId":"connect-1"}'],
      [
        undefined,
        '{"type":"MESSAGES_SNAPSHOT","messages":[' +
          '{"id":"user_<run>","role":"user","content":"Hi"},' +
          '{"id":"<run>.1","role":"assistant","content":"Let me see","toolCalls":' +
          '[{"id":"c","type":"function","function":{"name":"search","arguments":"{\\"q\\":\\"\\u00fc\\"}"}}]},' +
          '{"id":"<run>.7","role":"tool","toolCallId":"c","content":"[1]"},' +
          '{"id":"<run>.8","role":"assistant","content":"Done."}]}',
      ],
      [undefined, '{"type":"RUN_FINISHED","threadId":"t","runId":"connect-1","outcome":{"type":"success"}}'],
    ]);
  });

  it('goes on with the answer of a run, from its beginning', async () => {
    const reply = await say('Hi');
    const call = await agent.callFor('Hi');
    call.emit(message('One '));
    await reply.until('One ');
    const connected = await connect();
    await connected.until('One ');
    call.emit(message('two.'));
    call.finish();
    const data = await dataOf(connected);
    expect(snapshotOf(data)).toEqual([{ id: 'user_<run>', role: 'user', content: 'Hi' }]);
    expect([data[0], ...data.slice(2)]).toEqual(
      (await dataOf(reply)).map((each) => each.replace('"runId":"run-1"', '"runId":"connect-1"')),
    );
  });

  it('has the open interrupts of a run, whose answer lets it go on, and says of a failure', async () => {
    const reply = await say('Hi');
    const call = await agent.callFor('Hi');
    const answers = asks(call, [REFUND]);
    const asked = await dataOf(reply);
    const data = await dataOf(await connect());
    expect(snapshotOf(data)).toHaveLength(1);
    expect(data.at(-1)).toBe(asked.at(-1)!.replaceAll('run-1', 'connect-1'));
    expect(data.at(-1)).toContain('"outcome":{"type":"interrupt"');
    // A text beside open interrupts is no answer: AG-UI wants them answered, or given up.
    const text = await say('hello?', {
      runId: 'run-2',
      messages: [{ id: 'u2', role: 'user', content: 'hello?' }],
    });
    expect((await typesOf(text)).at(-1)).toBe('RUN_ERROR');
    expect(text.text).toContain('This thread has open interrupts.');
    const resume = [{ interruptId: 'refund-881', status: 'resolved', payload: { approved: true } }];
    const goesOn = await say('', { runId: 'run-3', messages: [], resume });
    expect(await answers).toMatchObject([{ value: { approved: true } }]);
    const executing = await connect();
    call.emit(toolResult('call_9', 'paid'));
    call.fail(new Error('x'));
    await goesOn.whole();
    const types = await typesOf(executing);
    expect(types.filter((type) => type === 'RUN_STARTED' || type === 'MESSAGES_SNAPSHOT')).toHaveLength(2);
    expect([types.at(-2), types.at(-1)]).toEqual(['TOOL_CALL_RESULT', 'RUN_ERROR']);
    const ended = snapshotOf((await (await connect()).allEvents()).map(({ data: each }) => each));
    expect(ended.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'activity']);
    expect(ended.at(-1)).toMatchObject({ activityType: 'done', content: { status: 'failed' } });
  });

  it('is asked a loaded message again, also one with a file', async () => {
    const source = { type: 'data', value: Buffer.from('abc').toString('base64'), mimeType: 'image/png' };
    const content = [
      { type: 'text', text: 'Look' },
      { type: 'image', source, metadata: { filename: 'a.png' } },
    ];
    const first = await say('', { messages: [{ id: 'u', role: 'user', content }] });
    (await agent.call(1)).finish();
    await first.whole();
    const [loaded] = snapshotOf(await dataOf(await connect()));
    const [, image] = loaded!.content as { source: { value: string } }[];
    expect(loaded!.content).toMatchObject([
      { type: 'text', text: 'Look' },
      { type: 'image', source: { type: 'url', mimeType: 'image/png' }, metadata: { filename: 'a.png' } },
    ]);
    expect(await (await get(host.url, image!.source.value)).whole()).toBe('abc');
    const again = await say('', { runId: 'run-2', messages: [loaded] });
    const call = await agent.call(2);
    expect(call.query.parts).toMatchObject([{ text: 'Look' }, { name: 'a.png', file: { size: 3 } }]);
    call.finish();
    await again.whole();
    expect((await host.agent.session('anonymous', 't', 0, 10)).turns).toHaveLength(1);
  });

  it('is that of one owner: to others it is new, and they see nothing of it', async () => {
    const reply = await say('Hi');
    const call = await agent.callFor('Hi');
    for (const [thread, headers] of [
      ['t', { 'x-caller': 'eve' }],
      ['unknown', {}],
    ] as const)
      expect(await typesOf(await connect(thread, headers))).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
    const refused = await request(host.url, { path: '/ag-ui/connect' }, '{}');
    expect([refused.status, await refused.json()]).toMatchObject([400, { code: 'invalid_query' }]);
    call.finish();
    await reply.whole();
  });
});
