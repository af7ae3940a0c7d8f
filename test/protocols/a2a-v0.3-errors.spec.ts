import { MemoryRunStore, QueryError } from '../../src/index.js';
import { type Reply, request } from '../support/client.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { Client, echo, jsonRpc, messageOf as messageOf1_0, rest, startA2a } from './a2a-host.js';
import { answered, call, messageOf, refusal, result, sending, streamEventsOf } from './a2a-v0.3-host.js';

describeOnOneAdapter('A refusal of A2A 0.3 on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startA2a(adapter, echo);
  });
  afterAll(() => host.close());
  const raw = async (body: string) => {
    const reply = await request(host.url, { path: '/a2a' }, body);
    const { id, error } = await reply.json<{ id: unknown; error?: { code: number } }>();
    return [reply.status, id, error?.code];
  };

  it('has the code of what is wrong with the call [test_rejects_malformed_json test_raw_invalid_json test_rejects_invalid_json_rpc_requests test_invalid_jsonrpc_version test_missing_method_field test_rejects_unknown_method test_rejects_invalid_params test_transport_specific_method_naming test_required_method_availability test_error_consistency_across_methods]', async () => {
    const head = '{"jsonrpc":"2.0"';
    for (const [body, id, code] of [
      ['{"jsonrpc": "2.0", "method": "message/send", "params": {"foo": "bar"}', null, -32700],
      [`[${head},"id":1,"method":"message/send"}]`, null, -32600],
      ['{"jsonrpc":"aaa","method":"message/send","params":{}}', null, -32600],
      ['{"jsonrpc":"1.0","id":"a","method":"message/send","params":{}}', 'a', -32600],
      [`${head},"id":1,"params":{}}`, 1, -32600],
      [`${head},"id":1,"method":{"a":1}}`, 1, -32600],
      [`${head},"id":{"bad":"type"},"method":"message/send","params":{}}`, null, -32600],
      [`${head},"method":"message/ssend","params":{}}`, null, -32601],
      [`${head},"id":1,"method":"nonexistent/method","params":{}}`, 1, -32601],
      [`${head},"id":1,"method":"toString"}`, 1, -32601],
      [`${head},"id":1,"method":"tasks/list"}`, 1, -32601],
      [`${head},"method":"message/send","params":{"":"not_a_dict"}}`, null, -32602],
      [`${head},"id":1,"method":"message/send","params":{"message":{"parts":"invalid"}}}`, 1, -32602],
      [`${head},"id":1,"method":"tasks/get"}`, 1, -32602],
    ])
      expect([body, ...(await raw(body as string))]).toEqual([body, 200, id, code]);
  });

  it('names members as this version has them', async () => {
    const sentence = async (params: object) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params });
      const reply = await request(host.url, { path: '/a2a' }, body);
      return (await reply.json<{ error: { message: string } }>()).error.message;
    };
    const file = { name: 'a/b.txt', mimeType: 'text/plain', bytes: 'YQ==' };
    const message = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'file', file }] };
    expect(await sentence({ message })).toMatch(/^"\/message\/parts\/0\/file\/name" must not contain/);
    expect(await sentence({ message: null })).toContain('"messageId", "role" and "parts"');
  });

  it('says everything that is wrong with a message [test_message_send_invalid_params test_invalid_params_error_validation]', async () => {
    const parts = [
      { kind: 'text', text: 7 },
      { kind: 'video' },
      { text: 'no kind' },
      'text',
      { kind: 'data', data: [1] },
      { kind: 'file' },
      { kind: 'file', file: {} },
      { kind: 'file', file: { uri: 'https://a.example/' } },
    ];
    const message = { kind: 'task', role: 'ROLE_USER', parts, contextId: 5 };
    expect(
      await refusal(host.url, 'message/send', {
        message,
        configuration: { blocking: 'yes', historyLength: -1 },
      }),
    ).toMatchObject({
      code: -32602,
      reason: 'INVALID_QUERY',
      fields: [
        'message.kind must be "message"',
        'message.role must be "user"',
        'message.parts[0].text must be a string',
        'message.parts[1].kind must be "text", "file" or "data"',
        'message.parts[2].kind must be "text", "file" or "data"',
        'message.parts[3] must be an object with a "kind"',
        'message.parts[4].data must be an object',
        'message.parts[5].file must be an object with "bytes"',
        'message.parts[6].file.bytes must be present: the content of the file as base64',
        'message.parts[7].file.uri cannot be fetched by this service: send the content of the file in "bytes"',
        'configuration.blocking must be true or false',
        'message.messageId must be present: a string that names the message',
        'message.contextId must be a string of at most 255 characters',
        'configuration.historyLength must be a whole number from 0',
      ],
    });
    const fields = async (message_: object) =>
      (await refusal(host.url, 'message/send', { message: message_ })).fields;
    expect(await fields(messageOf('', { parts: [] }))).toEqual([
      'message.parts must be an array with at least one part',
    ]);
    const file = { bytes: '!', name: 'a/b', mimeType: 'text' };
    expect(await fields(messageOf('', { parts: [{ kind: 'file', file }] }))).toEqual([
      expect.stringMatching(/^message\.parts\[0\]\.file\.name /),
      expect.stringMatching(/^message\.parts\[0\]\.file\.mimeType /),
      expect.stringMatching(/^message\.parts\[0\]\.file\.bytes /),
    ]);
    expect(
      await fields(messageOf('', { parts: [{ kind: 'file', file: { bytes: 'YQ==', mimeType: 5 } }] })),
    ).toEqual(['message.parts[0].file.mimeType must be a string']);
  });

  it('has the codes of A2A [test_tasks_get_nonexistent test_nonexistent_resource_error_validation test_push_notification_not_supported_error_32003 test_push_notification_not_supported_error_32003_enhanced test_content_type_not_supported_error_32005 test_authenticated_extended_card_method_exists]', async () => {
    const codes = async (method: string, params = {}) => {
      const { code, reason } = await refusal(host.url, method, params);
      return [code, reason];
    };
    expect(await codes('tasks/get', { id: 'none' })).toEqual([-32001, 'TASK_NOT_FOUND']);
    for (const verb of ['set', 'get', 'list', 'delete'])
      expect(await codes(`tasks/pushNotificationConfig/${verb}`, { id: 'none' })).toEqual([
        ...[-32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
      ]);
    const pushNotificationConfig = { url: 'https://a.example/' };
    expect(await codes('message/send', sending('Hi', {}, { pushNotificationConfig }))).toEqual([
      ...[-32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
    ]);
    expect(await codes('agent/getAuthenticatedExtendedCard')).toEqual([
      ...[-32007, 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'],
    ]);
    const limited = await startA2a(adapter, echo, {}, { card: { defaultInputModes: ['text/plain'] } });
    const parts = [{ kind: 'file', file: { bytes: 'YQ==', mimeType: 'image/png' } }];
    expect(await refusal(limited.url, 'message/send', sending('', { parts }))).toMatchObject({
      ...{ code: -32005, message: 'This agent does not take "image/png". It takes text/plain.' },
    });
    await limited.close();
  });

  it('of a stream is an event of it, which clients of 0.3 read [test_message_stream_invalid_params test_tasks_resubscribe_nonexistent]', async () => {
    const events = async (reply: Promise<Reply>) => {
      const { status, headers } = await reply;
      return [status, headers['content-type'], streamEventsOf(await (await reply).whole())];
    };
    const stream = 'text/event-stream; charset=utf-8';
    expect(await events(call(host.url, 'tasks/resubscribe', { id: 'none' }))).toEqual([
      ...[200, stream],
      [
        {
          code: -32001,
          message: 'There is no such task, or it is no longer kept.',
          data: { reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org' },
        },
      ],
    ]);
    expect(await events(call(host.url, 'message/stream', {}))).toMatchObject([
      200,
      stream,
      [{ code: -32602 }],
    ]);
  });

  it('keeps the statuses that proxies and clients act on [test_duplicate_request_ids test_error_response_completeness]', async () => {
    class Failing extends MemoryRunStore {
      override find(): never {
        throw new QueryError('unavailable', 'The store restarts.', { retryAfter: 2 });
      }
    }
    const failing = await startA2a(adapter, echo, { store: new Failing(), limits: { fileBytes: 10 } });
    for (const method of ['tasks/get', 'tasks/resubscribe']) {
      const reply = await call(failing.url, method, { id: 'a' });
      expect([reply.status, reply.headers['retry-after'], reply.headers['content-type']]).toEqual([
        ...[503, '2', 'application/json; charset=utf-8'],
      ]);
      expect(await reply.json()).toMatchObject({ id: 7, error: { message: 'The store restarts.' } });
    }
    const parts = [{ kind: 'file', file: { bytes: Buffer.alloc(11).toString('base64') } }];
    const large = await call(failing.url, 'message/send', sending('', { parts }));
    expect([large.status, (await large.json<{ error: object }>()).error]).toMatchObject([
      413,
      { data: { fieldViolations: [{ field: 'message.parts[0].file.bytes' }] } },
    ]);
    await failing.close();
    const given = messageOf('Hi', { contextId: 'c' });
    await result(host.url, 'message/send', { message: given });
    const other = { message: { ...given, parts: [{ kind: 'text', text: 'Other' }] } };
    const conflict = await call(host.url, 'message/send', other);
    expect([conflict.status, await conflict.json()]).toMatchObject([
      200,
      {
        id: 7,
        error: { code: -32000, data: { reason: 'IDEMPOTENCY_CONFLICT', domain: 'nest-agent-query' } },
      },
    ]);
  });

  it('says in which version a method is', async () => {
    expect(await refusal(host.url, 'message/list')).toMatchObject({
      message: 'There is no method "message/list" in A2A 0.3. Use one such as message/send.',
    });
    expect(await new Client(host.url, jsonRpc).error('message/send')).toMatchObject({
      message:
        'There is no method "message/send" in A2A 1.0, which the request names. Use one such as SendMessage.',
    });
  });

  it('meets each mixture of two versions', async () => {
    const found = async (method: string, params: object, headers: object = {}) =>
      (await answered(call(host.url, method, params as never, headers))).error?.code;
    const old = { message: messageOf('Hi') };
    const new_ = { message: messageOf1_0('Hi') };
    for (const version of ['0.3', '0.3.0', ' 0.3 '])
      expect(await found('message/send', old, { 'a2a-version': version })).toBeUndefined();
    expect(await found('message/send', old, { 'a2a-version': '1.0' })).toBe(-32601);
    expect(await found('message/send', old, { 'a2a-version': '0.2' })).toBe(-32009);
    expect(await found('SendMessage', new_)).toBe(-32009);
    expect(await found('SendMessage', old, { 'a2a-version': '1.0' })).toBe(-32602);
    expect(await found('message/send', new_)).toBe(-32602);
    const both = {
      ...messageOf('Hi'),
      parts: [{ kind: 'file', text: 'a', raw: 'YQ==', file: { bytes: 'Yg==' } }],
    };
    const { history } = await result(host.url, 'message/send', { message: both });
    expect(history![0]!.parts).toMatchObject([{ kind: 'file', file: { name: 'file-1.bin' } }]);
    // The path of REST is one of 1.0.
    const reply = await rest.call(host.url, 'SendMessage', new_, { 'a2a-version': '' });
    expect(reply.status).toBe(400);
  });

  it('takes a message as large as the limits allow', async () => {
    const parts = Array.from({ length: 1000 }, (_, index) => ({ kind: 'data', data: { index } }));
    const task = await result(host.url, 'message/send', sending('', { parts }));
    expect(task.history![0]!.parts.length).toBe(1000);
    const more = [...parts, { kind: 'text', text: 'one too many' }];
    expect((await call(host.url, 'message/send', sending('', { parts: more }))).status).toBe(413);
  });

  it('hides the tasks of others', async () => {
    const shared = await startA2a(adapter, echo, {
      owner: (each) => each.headers['x-caller'] as string,
    });
    const ada = { 'x-caller': 'ada' };
    const { result: task } = await answered(call(shared.url, 'message/send', sending('Hi'), ada));
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/resubscribe']) {
      const reply = await call(shared.url, method, { id: task!.id }, { 'x-caller': 'eve' });
      expect(await reply.whole()).toContain('"code":-32001');
    }
    await shared.close();
  });
});
