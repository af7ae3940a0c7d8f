import { Module, UseGuards, type CanActivate, UnauthorizedException } from '@nestjs/common';
import { McpModule, type McpTool } from 'nest-agent-query-mcp';
import { type HandlerFunction, message, type Query, QueryError, QueryModule } from '../../src/index.js';
import { type Body, request } from '../support/client.js';
import { describeOnOneAdapter, type Host, startHost } from '../support/host.js';
import { call, type Json, resultOf, send, sendLegacy, startMcp } from './mcp-host.js';

const textOf = ({ parts }: Query) => (parts[0]?.type === 'text' ? parts[0].text : '');

const handler: HandlerFunction = async function* (query) {
  yield message(`${textOf(query)} ${query.parts.length}`);
};

describeOnOneAdapter('What the server of MCP refuses, on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    const admit = (query: Query) => {
      if (textOf(query) === 'busy')
        throw new QueryError('rate_limited', 'Too many queries.', { retryAfter: 7 });
    };
    const limits = { textBytes: 1000, fileBytes: 1000, parts: 3 };
    host = await startMcp(adapter, handler, { admit, limits });
  });
  afterAll(() => host.close());
  const file = { name: 'a.txt', mimeType: 'text/plain', base64: 'YQ==' };

  it.each([
    [{}, '"/arguments" must', 'invalid_query'],
    [{ text: 1 }, '"/arguments/text" must be a string', 'invalid_query'],
    [{ text: 'a', files: {} }, '"/arguments/files" must be an array of files', 'invalid_query'],
    [{ text: 'a', files: [null] }, '"/arguments/files/0" must be an object with', 'invalid_query'],
    [{ text: 'a', files: [{ ...file, name: '../a' }] }, '"/arguments/files/0/name" must', 'invalid_query'],
    [{ text: 'a', files: [{ ...file, mimeType: 5 }] }, '"/arguments/files/0/mimeType" must', 'invalid_query'],
    [{ text: 'a', files: [{ ...file, base64: '%' }] }, '"/arguments/files/0/base64" ', 'invalid_query'],
    [{ files: [{ name: 'a', mimeType: 'text/plain' }] }, '"/arguments/files/0/', 'invalid_query'],
    [{ text: 'a', kwargs: [] }, '"/arguments/kwargs" must be an object', 'invalid_query'],
    [{ text: 'a', kwargs: { session_id: 5 } }, '"/arguments/kwargs/session_id" must', 'invalid_query'],
    [{ text: 'a', files: [file, file, file] }, 'parts', 'limit_exceeded'],
    [{ text: 'busy' }, 'Too many queries.\nTry again in 7 s.', 'rate_limited'],
  ])('are arguments %j: %s', async (given, said, code) => {
    const result = await call(host.url, given);
    expect(result).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: expect.stringContaining(said) }],
      _meta: { code },
    });
  });

  it.each([null, 'x', [], 1])('are arguments %j, which are no object', async (given) => {
    expect(await call(host.url, given)).toMatchObject({ error: { code: -32602 } });
  });

  it('are not files without a text, and members that it does not know', async () => {
    expect(await call(host.url, { files: [file], more: 1 })).toMatchObject({
      content: [{ type: 'text', text: ' 1' }],
    });
    expect(await call(host.url, { text: 'a', files: null, kwargs: null })).toMatchObject({
      content: [{ type: 'text', text: 'a 1' }],
    });
  });

  it('are tools and methods that are not there', async () => {
    const params = { name: 'none', arguments: { text: 'a' } };
    const sentence = 'There is no tool "none". The method tools/list returns those that exist.';
    expect(await resultOf(await send(host.url, 'tools/call', params))).toEqual({
      error: { code: -32602, message: sentence },
    });
    const reply = await send(host.url, 'prompts/list');
    expect([reply.status, await resultOf(reply)]).toMatchObject([404, { error: { code: -32601 } }]);
  });

  it('are headers that do not say what the body does', async () => {
    const params = { name: 'query', arguments: { text: 'a' } };
    for (const headers of [
      { 'mcp-name': 'x' },
      { 'mcp-method': 'x' },
      { 'mcp-protocol-version': '2025-11-25' },
    ]) {
      const reply = await send(host.url, 'tools/call', params, { headers });
      expect([reply.status, await resultOf(reply)]).toMatchObject([400, { error: { code: -32020 } }]);
    }
  });

  const post = (body: Body, headers = {}) => request(host.url, { path: '/mcp', headers }, body);
  const long = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'x',
    params: { arguments: { text: 'a'.repeat(2000) } },
  });
  it.each([
    ['no JSON', '{', {}, 400, -32700, 'invalid_json'],
    ['several messages', '[]', {}, 400, -32600, 'invalid_query'],
    ['another content type', '{}', { 'content-type': 'text/plain' }, 415, -32600, 'unsupported_media_type'],
    ['a longer text than is allowed', long, {}, 413, -32600, 'limit_exceeded'],
    ['a page of another origin', '{}', { origin: 'https://evil.example' }, 403, -32600, 'forbidden'],
    ['a page of no origin', '{}', { origin: 'null' }, 403, -32600, 'forbidden'],
    ['the name of another machine', '{}', { host: 'evil.example' }, 403, -32600, 'forbidden'],
  ])('is %s', async (_, body, headers, status, code, ours) => {
    const reply = await post(body, headers);
    expect([reply.status, await reply.json()]).toMatchObject([
      status,
      { jsonrpc: '2.0', id: null, error: { code, message: expect.any(String), data: { code: ours } } },
    ]);
  });

  it.each(['null', '1', '"x"', '{}', '{"method":1}', '{"jsonrpc":"2.0","id":{},"method":"tools/list"}'])(
    'is the body %s, which is no message',
    async (body) => {
      const reply = await post(body, { accept: 'application/json, text/event-stream' });
      expect([reply.status, await reply.json()]).toMatchObject([
        400,
        { error: { message: expect.any(String) } },
      ]);
    },
  );

  it.each(['GET', 'DELETE'])('is %s', async (method) => {
    const reply = await request(host.url, { path: '/mcp', method, headers: { accept: 'text/event-stream' } });
    expect([reply.status, reply.headers.allow]).toEqual([405, 'POST']);
  });

  it('is no page of its own', async () => {
    const headers = { origin: host.url };
    expect((await send(host.url, 'tools/list', {}, { headers })).status).toBe(200);
  });
});

describeOnOneAdapter('The module of MCP, on %s', (adapter) => {
  let host: Host | undefined;
  afterEach(async () => {
    await host?.close();
    host = undefined;
  });
  const answering = (text: string, name?: string) =>
    QueryModule.forRoot({
      handler: async function* () {
        yield message(text);
      },
      ...(name !== undefined && { name, path: `${name}/query` }),
    });
  const start = async (mcp: ReturnType<typeof McpModule.forRoot>) => {
    @Module({ imports: [answering('A', 'a'), answering('B', 'b'), answering('none'), mcp] })
    class AppModule {}
    return (host = await startHost(adapter, AppModule, (app) => app.setGlobalPrefix('api')));
  };
  const path = '/api/mcp';

  it('shows each agent that it names as a tool, under the prefix of the host', async () => {
    const tools: McpTool[] = [
      {},
      { agent: 'a', title: 'An agent' },
      { agent: 'b', name: 'other', description: 'Knows B.' },
    ];
    const { url } = await start(McpModule.forRoot({ tools }));
    const { tools: shown } = (await resultOf(await send(url, 'tools/list', {}, { path }))) as {
      tools: Json[];
    };
    expect(shown).toMatchObject([
      { name: 'query', description: 'Sends a text, and files, to the agent, and returns its answer.' },
      { name: 'a', title: 'An agent' },
      { name: 'other', description: 'Knows B.' },
    ]);
    for (const [name, text] of Object.entries({ query: 'none', a: 'A', other: 'B' })) {
      const params = { name, arguments: { text: 'Hi' } };
      const { content } = await resultOf(await send(url, 'tools/call', params, { path }));
      expect(content).toEqual([{ type: 'text', text }]);
    }
  });

  it.each([
    ['fileBytes', ['12345678901'], 0],
    ['filesBytes', ['1234567890', '1234567890'], 1],
  ])(
    'checks the limit %s of the tool that is called, also where no header names it',
    async (_, contents, index) => {
      const limits = { fileBytes: 10, filesBytes: 15 };
      let called = 0;
      const handler: HandlerFunction = async function* () {
        called++;
        yield message('A');
      };
      const strict = QueryModule.forRoot({ handler, limits, name: 'a', path: 'a/query' });
      const mcp = McpModule.forRoot({ tools: [{}, { agent: 'a' }] });
      @Module({ imports: [answering('none'), strict, mcp] })
      class AppModule {}
      host = await startHost(adapter, AppModule);
      const base64 = (text: string) => Buffer.from(text).toString('base64');
      const files = contents.map((text) => ({ name: 'a.txt', mimeType: 'text/plain', base64: base64(text) }));
      const params = { name: 'a', arguments: { text: 'Hi', files } };
      const refused = await resultOf(await sendLegacy(host.url, { id: 1, method: 'tools/call', params }));
      expect(refused).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining(`"/arguments/files/${index}/base64": The file`) }],
        _meta: { code: 'limit_exceeded' },
      });
      expect(called).toBe(0);
    },
  );

  it('has the guards that it is given', async () => {
    class Locked implements CanActivate {
      canActivate(): never {
        throw new UnauthorizedException('No key.');
      }
    }
    const { url } = await start(McpModule.forRoot({ decorators: [UseGuards(Locked)], path: '/tools/' }));
    const reply = await send(url, 'tools/list', {}, { path: '/api/tools' });
    expect([reply.status, await reply.json()]).toMatchObject([
      401,
      { jsonrpc: '2.0', error: { message: 'No key.', data: { code: 'unauthorized' } } },
    ]);
  });

  it('answers other names and origins where it is told so', async () => {
    const headers = { host: 'tools.example', origin: 'https://app.example' };
    const named = { allowedHosts: ['tools.example'], allowedOrigins: ['https://app.example'] };
    for (const options of [named, { allowedHosts: '*', allowedOrigins: '*' } as const]) {
      const { url } = await start(McpModule.forRoot(options));
      expect((await send(url, 'tools/list', {}, { path, headers })).status).toBe(200);
      const other = (await send(url, 'tools/list', {}, { path, headers: { ...headers, host: 'x.example' } }))
        .status;
      expect(other).toBe(options.allowedHosts === '*' ? 200 : 403);
      await host!.close();
      host = undefined;
    }
  });

  it.each([
    [[], 'McpModule: the option "tools" must have a tool.'],
    [[{}, { name: 'query' }], 'McpModule: two tools have the name "query". Give one another "name".'],
    [
      [{ name: 'a b' }],
      'McpModule: the name of a tool must have 1 to 128 letters, digits, "_", "-" and ".", but one is "a b".',
    ],
  ])('refuses the tools %j', (tools: McpTool[], sentence) => {
    expect(() => McpModule.forRoot({ tools })).toThrow(new TypeError(sentence));
  });

  it('ends the start where there is no such agent', async () => {
    await expect(start(McpModule.forRoot({ tools: [{ agent: 'c' }] }))).rejects.toThrow(
      'This application has no QueryModule with the name "c".',
    );
  });
});
