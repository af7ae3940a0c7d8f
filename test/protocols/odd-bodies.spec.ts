import { Agent } from 'node:http';
import { message, QueryModule } from '../../src/index.js';
import { A2aModule } from 'nest-agent-query-protocols/a2a';
import { AgUiModule } from 'nest-agent-query-protocols/ag-ui';
import { AiSdkModule } from 'nest-agent-query-protocols/ai-sdk';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import { request } from '../support/client.js';
import { describeOnOneAdapter, type Host, startHost } from '../support/host.js';
import { IS_LONG } from '../support/long-form.js';

const PICTURE = 'data:image/png;base64,YQ==';

/** Of a run that does not exist. */
const ITEM = 'msg_00000000-0000-4000-8000-000000000000_0';
const CALL = ITEM.replace('msg', 'call');

/** A message of A2A, with each member that is read. */
const MESSAGE = {
  message: {
    ...{
      messageId: 'm',
      role: 'ROLE_USER',
      contextId: 'c',
      taskId: '',
      metadata: { 'nest-agent-query:metadata': {} },
    },
    parts: [
      { text: 'Hi', mediaType: 'text/plain' },
      { raw: 'YQ==', filename: 'a' },
      { data: { answers: [{ id: 'a' }] } },
    ],
  },
  configuration: { historyLength: 1, returnImmediately: false, taskPushNotificationConfig: null },
  metadata: { a: 1 },
};
const call = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });

/** A body for each path, with each member that is read. */
const BODIES: Record<string, object> = {
  '/ai/chat': {
    id: 'c',
    messageId: 'm',
    messages: [
      {
        id: 'm',
        role: 'user',
        parts: [
          { type: 'text', text: 'Hi' },
          { type: 'file', url: PICTURE },
        ],
      },
    ],
    kwargs: {},
  },
  '/ai/chat/c/stop': { activeStreamId: 'x', assistantMessage: { id: 'msg_x' } },
  '/ag-ui': {
    threadId: 't',
    runId: 'r',
    messages: [
      { id: 'm', role: 'user', content: [{ type: 'image', source: { type: 'data', value: PICTURE } }] },
    ],
    tools: [{ name: 'f', parameters: {} }],
    resume: [],
    forwardedProps: {},
  },
  '/v1/responses': {
    input: [
      { role: 'user', content: [{ type: 'input_image', image_url: PICTURE }] },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: PICTURE } }] },
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: CALL, output: '' },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true, reason: 'x' },
      { type: 'message', id: ITEM, role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] },
      { type: 'message', role: 'user', content: 'Hi' },
    ],
    tools: [{ type: 'function', name: 'f', parameters: {} }],
    text: { format: { type: 'json_object' } },
    metadata: { a: 'b' },
    conversation: 'c',
    reasoning: {},
    kwargs: {},
  },
  '/v1/responses?reference': {
    input: [
      { type: 'item_reference', id: ITEM },
      { role: 'user', content: 'Hi' },
    ],
    previous_response_id: 'resp_1',
    store: true,
  },
  '/v1/chat/completions': {
    messages: [
      { role: 'system', content: 'S' },
      { role: 'assistant', content: null, refusal: 'No', tool_calls: [{ id: 'c' }] },
      { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'x' }] },
      { role: 'function', name: 'f', content: 'x' },
      { role: 'user', content: [{ type: 'file', file: { file_data: 'YQ==', filename: 'a' } }] },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: PICTURE } }] },
    ],
    stream_options: { include_usage: true },
    tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
    response_format: { type: 'json_schema', json_schema: { schema: {} } },
    reasoning_effort: 'low',
    kwargs: {},
  },
  '/v1/conversations': { items: [], metadata: {} },
  '/a2a/message:send': MESSAGE,
  '/a2a/message:stream': MESSAGE,
  '/a2a/tasks/x:cancel': { metadata: {} },
  '/a2a?SendMessage': call('SendMessage', MESSAGE),
  '/a2a?SendStreamingMessage': call('SendStreamingMessage', MESSAGE),
  '/a2a?GetTask': call('GetTask', { id: 'x', historyLength: 1 }),
  '/a2a?ListTasks': call('ListTasks', {
    ...{ contextId: 'x', status: 'TASK_STATE_WORKING', pageSize: 1, pageToken: '', historyLength: 0 },
    ...{ statusTimestampAfter: '2026-11-25T10:00:00Z', includeArtifacts: true },
  }),
  '/a2a?CancelTask': call('CancelTask', { id: 'x' }),
  '/a2a?SubscribeToTask': call('SubscribeToTask', { id: 'x' }),
};

/** What takes the place of each value; undefined: nothing does. */
const ODD = [undefined, null, -1, '', '\0', [null], { a: 1 }];

/** How many of these the short form tries at a place; the next place has the next ones. */
const TRIED = 2;

function oddAt(place: number): unknown[] {
  if (IS_LONG) return ODD;
  return Array.from({ length: TRIED }, (_, index) => ODD[(place * TRIED + index) % ODD.length]);
}

/** The requests share connections: they are thousands, and none of them is about a connection. */
const connections = new Agent({ keepAlive: true });
afterAll(() => connections.destroy());

function* placesIn(value: unknown, place: string[] = []): Generator<string[]> {
  yield place;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* placesIn(member, [...place, name]);
}

function withOdd(value: unknown, [name, ...rest]: string[], odd: unknown): unknown {
  if (name === undefined) return odd;
  const copy: Record<string, unknown> = Array.isArray(value)
    ? ([...value] as never)
    : { ...(value as object) };
  copy[name] = withOdd(copy[name], rest, odd);
  return copy;
}

describeOnOneAdapter('A body of another protocol, on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    const handler = async function* () {
      yield message('Hello');
    };
    const views = [AiSdkModule.forRoot(), AgUiModule.forRoot(), OpenAiModule.forRoot(), A2aModule.forRoot()];
    const query = QueryModule.forRoot({ handler, runs: { drainMs: 0 } });
    host = await startHost(adapter, { module: class {}, imports: [query, ...views] });
  });
  afterAll(() => host.close());

  it.each(Object.entries(BODIES))(
    'for %s is answered or refused, whatever stands in the place of one of its values',
    async (path, body) => {
      for (const [index, place] of [...placesIn(body)].entries())
        for (const odd of oddAt(index)) {
          const reply = await request(
            host.url,
            { path, headers: { 'a2a-version': '1.0' }, agent: connections },
            JSON.stringify(withOdd(body, place, odd)) ?? '',
          );
          const text = await reply.whole();
          const isClear = reply.status < 500 && !text.includes('"internal"');
          expect([place.join('.'), odd, isClear ? '' : text]).toEqual([place.join('.'), odd, '']);
        }
    },
  );
});
