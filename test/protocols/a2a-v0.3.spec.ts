import { type Envelope, file, log, message, reasoning, result, source, toolCall } from '../../src/index.js';
import { eventsOf, get } from '../support/client.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { CURSORS, startA2a } from './a2a-host.js';
import {
  call,
  messageOf,
  refusal,
  result as resultOf,
  sending,
  streamEventsOf,
  type Task,
} from './a2a-v0.3-host.js';

const ALL: Envelope[] = [
  log('Beginning.'),
  reasoning('Hm'),
  message('Hel'),
  message('lo "Ä\u2028"'),
  toolCall('call_1', 'search', { q: 'ü' }),
  message('Again'),
  source('https://a.example/', { title: 'A' }),
  file({ name: 'a.txt', mimeType: 'text/plain', content: Buffer.from('a') }),
  result(42),
];

const SHA = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';

describeOnOneAdapter('An answer in A2A 0.3 on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startA2a(adapter, async function* () {
      yield* ALL;
    });
  });
  afterAll(() => host.close());

  const literal = (text: string) =>
    text
      .replaceAll(host.url, '<origin>')
      .replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, '<run>')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replace(/a2a-[\da-f]{32}/g, '<context>');
  const FILE = `{"kind":"file","file":{"uri":"<origin>/query/<run>/files/${SHA}","name":"a.txt","mimeType":"text/plain"}}`;
  const SOURCE = '{"kind":"data","data":{"url":"https://a.example/","title":"A"}}';
  const RESULT = '{"kind":"data","data":{"value":42},"metadata":{"data_part_compat":true}}';

  it('is a task [test_message_send_valid_text test_tasks_get_valid test_jsonrpc_specific_features]', async () => {
    const reply = await call(host.url, 'message/send', {
      message: { ...messageOf('Hi'), messageId: 'm1' },
      metadata: { 'nest-agent-query:metadata': { ticket: '7' } },
    });
    expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    const text = await reply.whole();
    expect(literal(text)).toBe(
      '{"jsonrpc":"2.0","id":7,"result":{"kind":"task","id":"<run>","contextId":"<context>","artifacts":[' +
        '{"artifactId":"text-3","parts":[{"kind":"text","text":"Hello \\"Ä\u2028\\""}]},' +
        '{"artifactId":"text-6","parts":[{"kind":"text","text":"Again"}]},' +
        `{"artifactId":"sources","name":"sources","parts":[${SOURCE}]},` +
        `{"artifactId":"file-8","name":"a.txt","parts":[${FILE}]},` +
        `{"artifactId":"result","name":"result","parts":[${RESULT}]}],` +
        '"metadata":{"ticket":"7"},"status":{"state":"completed","timestamp":"<time>"},' +
        '"history":[{"kind":"message","messageId":"m1","contextId":"<context>","taskId":"<run>","role":"user",' +
        '"parts":[{"kind":"text","text":"Hi"}]}]}}',
    );
    const { result: task } = JSON.parse(text) as { result: Task };
    expect(await resultOf(host.url, 'tasks/get', { id: task.id })).toEqual(task);
    expect(await (await get(task.artifacts![3]!.parts[0]!.file!['uri'] as string, '')).whole()).toBe('a');
  });

  it('is a stream, which says where it ends and which texts are complete [test_message_stream_basic test_sse_header_compliance test_sse_event_format_compliance]', async () => {
    const reply = await call(host.url, 'message/stream', sending('Hi'));
    expect(reply.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    const names = '"taskId":"<run>","contextId":"<context>"';
    const status = (state: string, seq?: number, part?: string, isLast = false) => {
      const told = `,"message":{"kind":"message","messageId":"<run>.${seq}","contextId":"<context>","taskId":"<run>","role":"agent","parts":[${part}]}`;
      return `{"kind":"status-update",${names},"status":{"state":"${state}"${part === undefined ? '' : told}},"final":${isLast}}`;
    };
    const artifact = (members: string, flags = '') =>
      `{"kind":"artifact-update",${names},"artifact":{${members}}${flags}}`;
    const text = (id: string, content: string, flags = '') =>
      artifact(`"artifactId":"${id}","parts":[{"kind":"text","text":"${content}"}]`, flags);
    const call_ = '{"type":"tool_call","data":{"id":"call_1","name":"search","arguments":{"q":"ü"}}}';
    const events = [
      '{"kind":"task","id":"<run>","contextId":"<context>","status":{"state":"submitted","timestamp":"<time>"}}',
      status('submitted', 1, '{"kind":"text","text":"Beginning."}'),
      status('working'),
      text('text-3', 'Hel'),
      text('text-3', 'lo \\"Ä\\u2028\\"', ',"append":true'),
      status('working', 5, `{"kind":"data","data":${call_}}`),
      text('text-6', 'Again'),
      artifact(`"artifactId":"sources","name":"sources","parts":[${SOURCE}]`),
      artifact(`"artifactId":"file-8","name":"a.txt","parts":[${FILE}]`, ',"lastChunk":true'),
      artifact(`"artifactId":"result","name":"result","parts":[${RESULT}]`, ',"lastChunk":true'),
      text('text-3', '', ',"append":true,"lastChunk":true'),
      text('text-6', '', ',"append":true,"lastChunk":true'),
      status('completed', undefined, undefined, true),
    ];
    const wrapped = events.map((event) => `data: {"jsonrpc":"2.0","id":7,"result":${event}}\n\n`);
    expect(literal(await reply.whole())).toBe(wrapped.join(''));
  });

  it('is resumed by the extension after each of its events', async () => {
    const headers = { 'a2a-extensions': CURSORS };
    const reply = await call(host.url, 'message/stream', sending('Hi'), headers);
    const whole = eventsOf(await reply.whole());
    const { id } = streamEventsOf(reply.text)[0]!;
    expect(streamEventsOf(reply.text).map(({ metadata }) => metadata![CURSORS])).toEqual(
      whole.map((_, index) => index + 1),
    );
    for (let count = 0; count < whole.length; count++) {
      const from = { ...headers, 'last-event-id': `${id}.${count}` };
      const rest = await call(host.url, 'tasks/resubscribe', { id }, from);
      expect(eventsOf(await rest.whole())).toEqual(whole.slice(count));
    }
    const from = { ...headers, 'last-event-id': `${id}.${whole.length}` };
    const end = await call(host.url, 'tasks/resubscribe', { id }, from);
    expect(eventsOf(await end.whole())).toEqual(whole.slice(-1));
  });

  it('has as much history as the client wants [test_tasks_get_with_history_length]', async () => {
    const { id } = await resultOf(host.url, 'message/send', sending('Hi'));
    const historyOf = async (historyLength?: number) =>
      (await resultOf(host.url, 'tasks/get', { id, historyLength })).history?.length;
    expect([await historyOf(), await historyOf(1), await historyOf(Number.MAX_SAFE_INTEGER)]).toEqual([
      1, 1, 1,
    ]);
    expect(await historyOf(0)).toBeUndefined();
    const none = await resultOf(host.url, 'message/send', sending('Hi', {}, { historyLength: 0 }));
    expect(none.history).toBeUndefined();
    for (const historyLength of [-1, 1.5, 'all', 1e300])
      expect(await refusal(host.url, 'tasks/get', { id, historyLength })).toMatchObject({
        code: -32602,
        fields: ['historyLength must be a whole number from 0'],
      });
  });
});
