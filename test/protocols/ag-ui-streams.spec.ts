import { AgUiModule } from 'nest-agent-query-protocols/ag-ui';
import { get, request } from '../support/client.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import {
  ANSWERS,
  dataOf,
  inputOf,
  post,
  resumeOf,
  runIdOf,
  startAgUi,
  textOf,
  typesOf,
} from './ag-ui-host.js';

const FILE = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';
const binding = (id: string, hash: string) =>
  `"tanstack:interruptBinding":{"kind":"generic","interruptId":"${id}","interruptedRunId":"run-1","generation":0,"responseSchemaHash":"sha256:${hash}"}`;

const EVERY = [
  '{"type":"RUN_STARTED","threadId":"thread of every","runId":"run-1"}',
  '{"type":"CUSTOM","name":"log","value":{"message":"Beginning."}}',
  '{"type":"TEXT_MESSAGE_START","messageId":"<run>.2","role":"assistant"}',
  '{"type":"TEXT_MESSAGE_CONTENT","messageId":"<run>.2","delta":"Hel"}',
  '{"type":"TEXT_MESSAGE_CONTENT","messageId":"<run>.2","delta":"lo \\"Ä\\u2028\\"\\n"}',
  '{"type":"ACTIVITY_SNAPSHOT","messageId":"<run>.progress","activityType":"progress","content":{"done":1,"total":2}}',
  '{"type":"TEXT_MESSAGE_END","messageId":"<run>.2"}',
  '{"type":"TEXT_MESSAGE_START","messageId":"<run>.7","role":"assistant"}',
  '{"type":"TEXT_MESSAGE_CONTENT","messageId":"<run>.7","delta":"other"}',
  '{"type":"TEXT_MESSAGE_END","messageId":"<run>.7"}',
  '{"type":"TEXT_MESSAGE_START","messageId":"<run>.10","role":"assistant"}',
  '{"type":"TEXT_MESSAGE_CONTENT","messageId":"<run>.10","delta":"again"}',
  '{"type":"TEXT_MESSAGE_END","messageId":"<run>.10"}',
  '{"type":"REASONING_START","messageId":"<run>.13"}',
  '{"type":"REASONING_MESSAGE_START","messageId":"<run>.13","role":"reasoning"}',
  '{"type":"REASONING_MESSAGE_CONTENT","messageId":"<run>.13","delta":"Hm"}',
  '{"type":"REASONING_MESSAGE_CONTENT","messageId":"<run>.13","delta":"m"}',
  '{"type":"REASONING_MESSAGE_END","messageId":"<run>.13"}',
  '{"type":"REASONING_END","messageId":"<run>.13"}',
  '{"type":"TOOL_CALL_START","toolCallId":"call_1","toolCallName":"search","parentMessageId":"<run>.10"}',
  '{"type":"TOOL_CALL_ARGS","toolCallId":"call_1","delta":"{\\"q\\":\\"ü\\"}"}',
  '{"type":"TOOL_CALL_END","toolCallId":"call_1"}',
  '{"type":"TOOL_CALL_START","toolCallId":"call_2","toolCallName":"search","parentMessageId":"<run>.10"}',
  '{"type":"TOOL_CALL_ARGS","toolCallId":"call_2","delta":"{}"}',
  '{"type":"TOOL_CALL_END","toolCallId":"call_2"}',
  '{"type":"TOOL_CALL_RESULT","messageId":"<run>.25","toolCallId":"call_1","content":"{\\"hits\\":[1]}","role":"tool"}',
  '{"type":"TOOL_CALL_RESULT","messageId":"<run>.26","toolCallId":"call_2","content":"none","role":"tool","metadata":{"isError":true}}',
  '{"type":"CUSTOM","name":"source","value":{"url":"https://example.com","title":"Example"}}',
  `{"type":"CUSTOM","name":"file","value":{"name":"a.txt","mimeType":"text/plain","size":1,"sha256":"${FILE}","path":"/query/<run>/files/${FILE}"}}`,
  '{"type":"CUSTOM","name":"suggestions","value":{"items":[{"text":"More"}]}}',
  '{"type":"CUSTOM","name":"custom","value":null}',
  '{"type":"TEXT_MESSAGE_START","messageId":"<run>.31","role":"assistant"}',
  '{"type":"TEXT_MESSAGE_CONTENT","messageId":"<run>.31","delta":"End"}',
  '{"type":"TEXT_MESSAGE_END","messageId":"<run>.31"}',
  '{"type":"RUN_FINISHED","threadId":"thread of every","runId":"run-1","result":{"answer":42},"outcome":{"type":"success"},"usage":[{"model":"m","inputTokens":4,"outputTokens":3,"reasoningTokens":1},{"inputTokens":1,"outputTokens":1}]}',
];

const ASKS = [
  '{"type":"RUN_STARTED","threadId":"thread of asks","runId":"run-1"}',
  '{"type":"TEXT_MESSAGE_START","messageId":"<run>.1","role":"assistant"}',
  '{"type":"TEXT_MESSAGE_CONTENT","messageId":"<run>.1","delta":"One moment"}',
  '{"type":"TEXT_MESSAGE_END","messageId":"<run>.1"}',
  '{"type":"TOOL_CALL_START","toolCallId":"call_9","toolCallName":"refund","parentMessageId":"<run>.1"}',
  '{"type":"TOOL_CALL_ARGS","toolCallId":"call_9","delta":"{\\"customer\\":881,\\"amount\\":120}"}',
  '{"type":"TOOL_CALL_END","toolCallId":"call_9"}',
  '{"type":"RUN_FINISHED","threadId":"thread of asks","runId":"run-1","outcome":{"type":"interrupt","interrupts":[' +
    '{"id":"refund-881","reason":"tool_call","message":"Refund 120 EUR to customer 881?","toolCallId":"call_9",' +
    '"responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"}},"required":["approved"]},' +
    '"expiresAt":"<time>","metadata":{"kind":"approval","toolName":"refund","input":{"customer":881,"amount":120},' +
    `${binding('refund-881', 'cdbfbca60521dadf8943117e373c78329e9c5dfb03679f608369f27f7fc9ffb8')}}},` +
    '{"id":"quarter","reason":"input_required","message":"Which quarter?","responseSchema":{"type":"string","enum":["Q1","Q2"]},' +
    `"expiresAt":"<time>","metadata":{"kind":"input",${binding('quarter', '62393ab01d0ae60d2c1921fb425ef130af57d35bd0bb61a9d667ae8d7469873b')}}},` +
    '{"id":"auth","reason":"nest-agent-query:auth","message":"Sign in","responseSchema":{"type":"object"},' +
    `"expiresAt":"<time>","metadata":{"kind":"auth","url":"https://example.com/login",${binding('auth', 'a2c799262a3ce3c19ef5cdd983bf3d12b43ab3c426227091b909dcb7054738c0')}}}` +
    ']},"usage":[{"inputTokens":1,"outputTokens":1}]}',
];

describeOnOneAdapter('The streams of AG-UI on %s', (adapter) => {
  let host: Host;
  beforeEach(async () => {
    host = await startAgUi(adapter);
  });
  afterEach(async () => {
    await host.close();
  });

  it('have each type of envelope, as events with ids', async () => {
    const reply = await post(host, inputOf('every'));
    expect(await dataOf(reply)).toEqual(EVERY);
    const run = runIdOf(reply);
    expect(reply.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(reply.text.split('\n\n')[0]).toBe(`id: ${run}.0\ndata: ${EVERY[0]}`);
    expect(reply.events.map(({ id }) => id)).toEqual(EVERY.map((_, number) => `${run}.${number}`));
  });

  it('begin before the handler emits anything, with names of any characters', async () => {
    const reply = await post(
      host,
      inputOf('endless', { threadId: 'Ä"\u2028', runId: '日', parentRunId: 'p' }),
    );
    await reply.until('RUN_STARTED');
    expect(reply.events[0]!.data).toBe(
      '{"type":"RUN_STARTED","threadId":"\\u00c4\\"\\u2028","runId":"\\u65e5","parentRunId":"p"}',
    );
    await host.agent.cancel('anonymous', runIdOf(reply));
    expect((await dataOf(reply)).at(-1)).toBe(
      '{"type":"RUN_FINISHED","threadId":"Ä\\"\\u2028","runId":"日","outcome":{"type":"cancelled"}}',
    );
  });

  it('end with an error where the run fails, after its open message', async () => {
    expect((await dataOf(await post(host, inputOf('failed')))).slice(-3)).toEqual([
      '{"type":"REASONING_MESSAGE_END","messageId":"<run>.4"}',
      '{"type":"REASONING_END","messageId":"<run>.4"}',
      '{"type":"RUN_ERROR","message":"The quota is used up.","code":"quota_exceeded"}',
    ]);
  });

  it('end where the run asks, and go on in another run with the answers', async () => {
    const asked = await post(host, inputOf('asks'));
    expect(await dataOf(asked)).toEqual(ASKS);
    const resumed = await post(host, resumeOf('asks', ANSWERS));
    const events = await dataOf(resumed);
    expect(events[0]).toBe('{"type":"RUN_STARTED","threadId":"thread of asks","runId":"run-2"}');
    expect(events[1]).toContain(
      '"toolCallId":"call_9","content":"[{\\"id\\":\\"refund-881\\",\\"outcome\\":\\"answered\\",\\"value\\":{\\"approved\\":true,\\"arguments\\":{\\"customer\\":881,\\"amount\\":100}}',
    );
    expect(events[1]).toContain('{\\"id\\":\\"quarter\\",\\"outcome\\":\\"answered\\",\\"value\\":\\"Q1\\"');
    expect(events.slice(2)).toEqual([
      '{"type":"TEXT_MESSAGE_START","messageId":"<run>.10","role":"assistant"}',
      '{"type":"TEXT_MESSAGE_CONTENT","messageId":"<run>.10","delta":"Thanks"}',
      '{"type":"TEXT_MESSAGE_END","messageId":"<run>.10"}',
      '{"type":"RUN_FINISHED","threadId":"thread of asks","runId":"run-2","outcome":{"type":"success"}}',
    ]);
    expect(resumed.events[0]!.id).toBe(`${runIdOf(asked)}.8`);
  });

  it('end without what clients before 1.0 refuse: these name no version', async () => {
    const input = (text: string) => inputOf(text, { protocolVersion: undefined });
    const tools = await dataOf(await post(host, input('asks tools')));
    expect(tools.at(-1)).toBe(
      '{"type":"RUN_FINISHED","threadId":"thread of asks tools","runId":"run-1","outcome":{"type":"success"}}',
    );
    const reply = await post(host, input('endless'));
    await reply.until('RUN_STARTED');
    const connecting = { path: '/ag-ui/connect' };
    const joined = await request(host.url, connecting, JSON.stringify(input('endless')));
    await host.agent.cancel('anonymous', runIdOf(reply));
    for (const each of [reply, joined])
      expect((await dataOf(each)).at(-1)).toBe(
        '{"type":"RUN_FINISHED","threadId":"thread of endless","runId":"run-1"}',
      );
  });

  it('let the client execute calls, and go on with the messages of its tools', async () => {
    const asked = await dataOf(await post(host, inputOf('asks tools')));
    expect(asked.slice(-3)).toEqual([
      '{"type":"CUSTOM","name":"tool-input-available","value":{"toolCallId":"call_a","toolName":"location","input":{"accuracy":1}}}',
      '{"type":"CUSTOM","name":"tool-input-available","value":{"toolCallId":"call_b","toolName":"location","input":{"accuracy":1}}}',
      '{"type":"RUN_FINISHED","threadId":"thread of asks tools","runId":"run-1","outcome":{"type":"success","pendingToolCallIds":["call_a","call_b"]}}',
    ]);
    const results = [
      { id: 'user-1', role: 'user', content: 'asks tools' },
      { id: 'a', role: 'assistant', toolCalls: [{ id: 'forged' }] },
      { id: 't1', role: 'tool', toolCallId: 'call_a', content: '{"lat":1}' },
      { id: 't2', role: 'tool', toolCallId: 'call_b', content: '', error: 'No signal' },
      { id: 't3', role: 'tool', toolCallId: 'forged', content: 'x' },
    ];
    const resumed = await post(host, inputOf('asks tools', { runId: 'run-2', messages: results }));
    expect((await dataOf(resumed)).slice(0, 3)).toEqual([
      '{"type":"RUN_STARTED","threadId":"thread of asks tools","runId":"run-2"}',
      '{"type":"TOOL_CALL_RESULT","messageId":"<run>.14","toolCallId":"call_a","content":"{\\"lat\\":1}","role":"tool"}',
      '{"type":"TOOL_CALL_RESULT","messageId":"<run>.15","toolCallId":"call_b","content":"No signal","role":"tool"}',
    ]);
  });

  it('are resumed after any event, with exactly what is missing', async () => {
    const asked = await post(host, inputOf('asks'));
    const legs = [...(await asked.allEvents())];
    const answered = await post(host, resumeOf('asks', ANSWERS));
    legs.push(...(await answered.allEvents()));
    const run = runIdOf(asked);
    const resume = (number: number, name: string) =>
      post(host, 'not read', { 'last-event-id': `${run}.${number}`, 'x-run-id': name });
    // The first leg has ended for clients that come now: to them it is one run.
    for (let number = 8; number < legs.length - 1; number++) {
      const reply = await resume(number, 'run-2');
      expect(await reply.allEvents()).toEqual(legs.slice(number + 1));
    }
    const last = await resume(legs.length - 1, 'run-2');
    expect(await last.allEvents()).toEqual([{ id: undefined, data: legs.at(-1)!.data }]);
    // An `EventSource` would ask for it every second.
    expect(last.text).toBe(`retry: 86400000\ndata: ${legs.at(-1)!.data}\n\n`);
    const joined = await get(host.url, '/ag-ui?runId=run-1&offset=-1');
    const whole = legs.filter((_, number) => number !== 7 && number !== 8);
    const named = (data: string) => data.replace('"run-2"', '"run-1"');
    expect(await joined.allEvents()).toEqual(whole.map(({ id, data }) => ({ id, data: named(data) })));
    const ways: [string, number, Record<string, string>?][] = [
      ['&offset=-1', 3, { 'last-event-id': `${run}.3` }],
      [`&offset=${run}.9`, 9],
      [`&lastEventId=${run}.5`, 5],
      [`&offset=${run}.9&lastEventId=${run}.5`, 5],
      [`&offset=${run}.9&lastEventId=`, 9],
      [`&lastEventId=${run}.5`, 3, { 'last-event-id': `${run}.3` }],
    ];
    for (const [query, cursor, headers = {}] of ways) {
      const reply = await get(host.url, `/ag-ui?runId=run-1${query}`, headers);
      const rest = whole.filter(({ id }) => Number(id!.split('.')[1]) > cursor);
      expect((await reply.allEvents()).map(({ id }) => id)).toEqual(rest.map(({ id }) => id));
    }
  });

  it('are resumed within a leg that lasts, and end with it', async () => {
    const asked = await post(host, inputOf('asks twice'));
    const first = await asked.allEvents();
    expect(await typesOf(asked)).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
    const second = await post(host, resumeOf('asks twice', { quarter: 'Q2' }));
    expect(await typesOf(second)).toEqual([
      ...['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_FINISHED'],
    ]);
    const again = await post(host, 'not read', {
      'last-event-id': `${runIdOf(asked)}.0`,
      'x-run-id': 'run-2',
    });
    expect((await again.allEvents()).map(({ id }) => id)).toEqual(second.events.slice(1).map(({ id }) => id));
    const end = await post(host, 'not read', { 'last-event-id': second.events.at(-1)!.id! });
    expect((await end.allEvents()).map(({ id }) => id)).toEqual([undefined]);
    expect(first.at(-1)!.id).toBe(`${runIdOf(asked)}.1`);
    const third = await post(host, resumeOf('asks twice', { again: null }, { runId: 'run-3' }));
    expect([await textOf(third), (await typesOf(third)).at(-1)]).toEqual(['"nothing"', 'RUN_FINISHED']);
  });
});

it('A view has a path and a module of its own', () => {
  expect(AgUiModule.forRoot({ path: 'agents/ag-ui' }).controllers).toHaveLength(1);
});
