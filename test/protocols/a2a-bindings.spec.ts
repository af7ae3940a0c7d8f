import { A2aModule } from 'nest-agent-query-protocols/a2a';
import { fileBytes, MemoryRunStore, QueryError, QueryModule } from '../../src/index.js';
import { get, request } from '../support/client.js';
import { describeOnOneAdapter, type Host, startHost } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import {
  BINDINGS,
  Client,
  echo,
  type Json,
  jsonRpc,
  messageOf,
  rest,
  send,
  startA2a,
  textsOf,
} from './a2a-host.js';

const INFO = 'type.googleapis.com/google.rpc.ErrorInfo';

describeOnOneAdapter('The bindings of A2A on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startA2a(adapter, echo);
  });
  afterAll(() => host.close());
  const post = async (body: string, headers: object = {}) => {
    const reply = await request(
      host.url,
      { path: '/a2a', headers: { 'a2a-version': '1.0', ...headers } },
      body,
    );
    return [reply.status, JSON.parse(await reply.whole()) as Json] as const;
  };

  it('JSON-RPC has an error for each request that is none [JSONRPC-FMT-001 JSONRPC-ERR-001 JSONRPC-SVC-001]', async () => {
    for (const [body, code, id] of [
      ['{', -32700, null],
      ['[]', -32600, null],
      ['null', -32600, null],
      ['{"jsonrpc":"2.0","method":"GetTask"}', -32600, null],
      ['{"jsonrpc":"2.0","id":{},"method":"GetTask"}', -32600, null],
      ['{"jsonrpc":"1.0","id":"a","method":"GetTask"}', -32600, 'a'],
      ['{"jsonrpc":"2.0","id":2,"method":1}', -32600, 2],
      ['{"jsonrpc":"2.0","id":2,"method":"GetTask","params":[]}', -32600, 2],
      ['{"jsonrpc":"2.0","id":2,"method":"message/send","params":{}}', -32601, 2],
      ['{"jsonrpc":"2.0","id":2,"method":"toString","params":{}}', -32601, 2],
      ['{"jsonrpc":"2.0","id":null,"method":"GetTask"}', -32602, null],
    ] as const)
      expect([body, await post(body)]).toEqual([
        body,
        [
          200,
          {
            jsonrpc: '2.0',
            id,
            error: expect.objectContaining({ code, data: expect.any(Array) as unknown }) as unknown,
          },
        ],
      ]);
  });

  it('JSON-RPC has the statuses that clients act on', async () => {
    const [status, { error }] = await post('{}', { 'content-type': 'text/plain' });
    expect(status).toBe(415);
    expect(error).toMatchObject({
      code: -32000,
      data: [{ reason: 'UNSUPPORTED_MEDIA_TYPE', domain: 'nest-agent-query' }],
    });
  });

  it('an error of JSON-RPC says what is wrong [JSONRPC-ERR-002 JSONRPC-ERR-003 JSONRPC-SSE-002]', async () => {
    const codes: unknown[] = [];
    const error = async (method: string, params: Json = {}, headers: object = {}) => {
      const { error: found } = await jsonRpc.read(await jsonRpc.call(host.url, method, params, headers));
      const [info] = found!.details;
      expect(info!['@type']).toBe(INFO);
      if (found!.code > -32100) expect(info!.domain).toBe('a2a-protocol.org');
      codes.push([found!.code, info!.reason]);
    };
    const { id } = await new Client(host.url, jsonRpc).send('Hi');
    await error('GetTask', { id: 'none' });
    await error('CancelTask', { id });
    await error('GetTaskPushNotificationConfig');
    await error('SubscribeToTask', { id });
    await error('GetExtendedAgentCard');
    await error('GetTask', { id }, { 'a2a-version': '0.3' });
    expect(codes).toEqual([
      [-32001, 'TASK_NOT_FOUND'],
      [-32002, 'TASK_NOT_CANCELABLE'],
      [-32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
      [-32004, 'UNSUPPORTED_OPERATION'],
      [-32004, 'UNSUPPORTED_OPERATION'],
      [-32009, 'VERSION_NOT_SUPPORTED'],
    ]);
  });

  it('an error of REST is a google.rpc.Status [HTTP_JSON-ERR-001 HTTP_JSON-ERR-002 HTTP_JSON-STATUS-001]', async () => {
    const reply = await send(host.url, 'GET', 'tasks/none');
    expect([reply.status, reply.headers['content-type']]).toEqual([404, 'application/a2a+json']);
    expect(await reply.whole()).toBe(
      '{"error":{"code":404,"status":"NOT_FOUND","message":"There is no such task, or it is no longer kept.","details":[' +
        `{"@type":"${INFO}","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}`,
    );
    const { id } = await new Client(host.url, rest).send('Hi');
    const statuses: unknown[] = [];
    for (const [method, path, body, headers] of [
      ['POST', `tasks/${id}:cancel`],
      ['POST', 'tasks/x/pushNotificationConfigs', { url: 'https://a.example/' }],
      ['POST', `tasks/${id}:subscribe`],
      ['POST', 'message:send', {}],
      ['GET', 'tasks', undefined, { 'a2a-version': '0.5' }],
      ['POST', 'message:send', { message: messageOf('Hi') }, { 'content-type': 'text/plain' }],
    ] as [string, string, Json?, object?][]) {
      const { status, ...answer } = await send(host.url, method, path, body, headers).then(async (each) => ({
        status: each.status,
        ...(await each.json<{ error: { code: number; status: string; details: { reason: string }[] } }>()),
      }));
      expect(answer.error.code).toBe(status);
      statuses.push([status, answer.error.status, answer.error.details[0]!.reason]);
    }
    expect(statuses).toEqual([
      [400, 'FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE'],
      [400, 'FAILED_PRECONDITION', 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
      [400, 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'],
      [400, 'INVALID_ARGUMENT', 'INVALID_QUERY'],
      [400, 'FAILED_PRECONDITION', 'VERSION_NOT_SUPPORTED'],
      [415, 'INVALID_ARGUMENT', 'UNSUPPORTED_MEDIA_TYPE'],
    ]);
  });

  it('REST has the paths and methods of the specification, and no others [HTTP_JSON-URL-001 HTTP_JSON-URL-002]', async () => {
    for (const [method, path] of [
      ['GET', 'message:send'],
      ['POST', 'message:other'],
      ['POST', 'tasks'],
      ['PUT', 'tasks/x'],
      ['POST', 'tasks/x'],
      ['GET', 'a/b/c/d/e'],
      ['POST', 'extendedAgentCard'],
    ] as const) {
      const reply = await send(host.url, method, path);
      expect([method, path, reply.status, await reply.whole()]).toEqual([
        ...[method, path, 404],
        expect.stringContaining('"message":"A2A has no such path and method."') as unknown,
      ]);
    }
  });

  it.each(BINDINGS)(
    'refuse what the card does not promise, through $name [CORE-CAP-001 CORE-CAP-003 BIND-EQUIV-003]',
    async (binding) => {
      const client = new Client(host.url, binding);
      for (const verb of ['Create', 'Get', 'Delete'])
        expect(await client.error(`${verb}TaskPushNotificationConfig`, {})).toMatchObject({
          reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
        });
      expect(await client.error('ListTaskPushNotificationConfigs', {})).toMatchObject({
        reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
      });
      expect(await client.error('GetExtendedAgentCard', {})).toMatchObject({
        reason: 'UNSUPPORTED_OPERATION',
        message: 'This agent has no other card than its public one.',
      });
    },
  );

  it.each(BINDINGS)(
    'require version 1.0 for operations of 1.0, through $name [VER-SERVER-001 VER-SERVER-002 VER-SERVER-003 VER-CLIENT-002 JSONRPC-SVC-002 HTTP_JSON-SVC-002]',
    async (binding) => {
      const client = new Client(host.url, binding);
      for (const version of ['1.0', '1.0.1', ' 1.0 '])
        expect(await client.error('ListTasks', {}, { 'A2A-VERSION': version })).toMatchObject({
          reason: undefined,
        });
      for (const version of ['', '0.3', '0.3.0'])
        expect(await client.error('ListTasks', {}, { 'a2a-version': version })).toMatchObject({
          reason: 'VERSION_NOT_SUPPORTED',
          message:
            'This is an operation of A2A 1.0, and a request that names no version is one of 0.3: send the header A2A-Version: 1.0.',
        });
      for (const version of ['1.1', '1', '0.2', '0.30'])
        expect(await client.error('ListTasks', {}, { 'a2a-version': version })).toMatchObject({
          reason: 'VERSION_NOT_SUPPORTED',
          message: `This agent speaks A2A 1.0 and 0.3. The request names "${version}": send the header A2A-Version: 1.0, or none for 0.3.`,
        });
    },
  );

  it('take the version as a parameter of the URL too', async () => {
    expect((await get(host.url, '/a2a/tasks?A2A-Version=1.0')).status).toBe(200);
    expect((await get(host.url, '/a2a/tasks')).status).toBe(400);
  });

  it('read a file of a message as it arrives, up to the limit', async () => {
    const limited = await startA2a(adapter, echo, { limits: { fileBytes: 10 } });
    for (const binding of BINDINGS) {
      const parts = [{ raw: Buffer.alloc(11).toString('base64'), filename: 'a' }];
      const reply = await binding.call(limited.url, 'SendMessage', { message: messageOf('', { parts }) });
      expect(reply.status).toBe(413);
      const { error } = await binding.read(reply);
      expect(error!.details[0]!.reason).toBe('LIMIT_EXCEEDED');
      expect(error!.details[1]!.fieldViolations![0]!.field).toBe('message.parts[0].raw');
    }
    await limited.close();
  });

  it('leave a run its files although the answer to the message fails', async () => {
    class Failing extends MemoryRunStore {
      override find(): never {
        throw new QueryError('unavailable', 'The store restarts.');
      }
    }
    const agent = new ScriptedAgent();
    const failing = await startA2a(adapter, agent.handler, { store: new Failing() });
    // Larger than what is kept in memory.
    const content = Buffer.alloc(3_000_000, 'a');
    for (const [index, binding] of BINDINGS.entries()) {
      const parts = [{ raw: content.toString('base64'), filename: 'a.bin' }];
      const given = { message: messageOf('', { parts }), configuration: { returnImmediately: true } };
      expect((await binding.call(failing.url, 'SendMessage', given)).status).not.toBe(500);
      const call = await agent.call(index + 1);
      const [part] = call.query.parts;
      if (part?.type !== 'file') throw new Error('The query has no file.');
      expect((await fileBytes(part)).equals(content)).toBe(true);
      call.finish();
    }
    await failing.close();
  });
});

describeOnOneAdapter('The addresses of A2A on %s', (adapter) => {
  it('are under the prefix of the host', async () => {
    const query = QueryModule.forRoot({ handler: echo });
    const host = await startHost(
      adapter,
      { module: class {}, imports: [query, A2aModule.forRoot()] },
      (app) => app.setGlobalPrefix('api'),
    );
    const client = new Client(`${host.url}/api`, rest);
    const { id, history } = await client.send('Hi', {
      parts: [{ text: 'Hi' }, { raw: 'YQ==', filename: 'a.txt' }],
    });
    const { url } = history![0]!.parts[1]!;
    expect(url).toMatch(new RegExp(`^${host.url}/api/query/${id}/files/[0-9a-f]{64}$`));
    expect(await (await get(url!, '')).whole()).toBe('a');
    expect(textsOf(await client.get(id))).toEqual(['Hi']);
    const card = await (
      await get(host.url, '/api/.well-known/agent-card.json')
    ).json<{ supportedInterfaces: Json[] }>();
    expect(card.supportedInterfaces[0]).toMatchObject({ url: `${host.url}/api/a2a` });
    await host.close();
  });
});
