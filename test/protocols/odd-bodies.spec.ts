import { message, QueryModule } from '../../src/index.js';
import { AgUiModule } from 'nest-agent-query-protocols/ag-ui';
import { AiSdkModule } from 'nest-agent-query-protocols/ai-sdk';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import { request } from '../support/client.js';
import { describeOnOneAdapter, type Host, startHost } from '../support/host.js';

const PICTURE = 'data:image/png;base64,YQ==';

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
      { type: 'message', role: 'user', content: 'Hi' },
    ],
    tools: [{ type: 'function', name: 'f', parameters: {} }],
    text: { format: { type: 'json_object' } },
    metadata: { a: 'b' },
    conversation: 'c',
    reasoning: {},
    kwargs: {},
  },
  '/v1/chat/completions': {
    messages: [
      { role: 'system', content: 'S' },
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
};

/** What takes the place of each value; undefined: nothing does. */
const ODD = [undefined, null, -1, '', '\0', [null], { a: 1 }];

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
    const views = [AiSdkModule.forRoot(), AgUiModule.forRoot(), OpenAiModule.forRoot()];
    const query = QueryModule.forRoot({ handler, runs: { drainMs: 0 } });
    host = await startHost(adapter, { module: class {}, imports: [query, ...views] });
  });
  afterAll(() => host.close());

  it.each(Object.entries(BODIES))(
    'for %s is answered or refused, whatever stands in the place of one of its values',
    async (path, body) => {
      for (const place of placesIn(body))
        for (const odd of ODD) {
          const reply = await request(host.url, { path }, JSON.stringify(withOdd(body, place, odd)) ?? '');
          const text = await reply.whole();
          const isClear = reply.status < 500 && !text.includes('"internal"');
          expect([place.join('.'), odd, isClear ? '' : text]).toEqual([place.join('.'), odd, '']);
        }
    },
  );
});
