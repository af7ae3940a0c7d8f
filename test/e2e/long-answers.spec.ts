import { IncomingMessage, ServerResponse } from 'node:http';
import { type Server, Socket } from 'node:net';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Module } from '@nestjs/common';
import { McpModule } from 'nest-agent-query-mcp';
import { A2aModule } from 'nest-agent-query-protocols/a2a';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import { holdAnswer } from '../../src/query/index.js';
import { MemoryRunStore, message, type Query, QueryModule, toolResult } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, type Body, type Reply, request, type RequestOptions } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startHost } from '../support/host.js';
import { IS_LONG } from '../support/long-form.js';
import { ticks } from '../support/slow-run-store.js';

const MIB = 1024 * 1024;

/** Longer than what the system takes for a connection that nobody reads. */
const LENGTH = 12 * MIB;
const CHUNK = `"${'x'.repeat(16_000)}"\n`;
const CHUNKS = Math.ceil(LENGTH / CHUNK.length);
const READERS = 4;

/** How many characters the answers of all callers may hold. */
const MOST = getHeapStatistics().heap_size_limit / 8;

/** How many of these are left where an answer that is not sent holds the others. */
const LEFT = 64 * MIB;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const handler = async function* ({ kwargs }: Query) {
  // As much as a turn keeps of an answer.
  if (kwargs['session_id'] === 'long') yield toolResult('call', 'x'.repeat(MIB - 1024));
  else for (let left = CHUNKS; left > 0; left--) yield message(CHUNK);
};

/** A key belongs to one request: each view has its own. */
const keyOf = (name: string) => ({ 'idempotency-key': name });
const A2A = { 'a2a-version': '1.0', 'a2a-extensions': 'urn:nest-agent-query:cursor:v1' };

type Asked = [options: RequestOptions, body?: Body];

const getOf = (path: string, headers: Record<string, string> = {}): Asked => [
  { method: 'GET', path, headers },
];
const postOf = (path: string, body: object, headers: Record<string, string> = keyOf(path)): Asked => [
  { path, headers },
  JSON.stringify(body),
];

function mcp(method: string, params: object, name: string): Asked {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  };
  const headers = {
    ...keyOf('mcp'),
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    'mcp-name': name,
  };
  return postOf('/mcp', { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }, headers);
}

type View = [name: string, asked: (id: string) => Asked];

/** Requests for the answer of a run: of the one with an id, or of the one that has the same key. */
const VIEWS: View[] = [
  ['GET {base}/query/{id}', (id) => getOf(`/query/${id}`, { accept: 'text/event-stream' })],
  ['GET /v1/responses/{id}', (id) => getOf(`/v1/responses/resp_${id}`)],
  [
    'the end of the stream of GET /v1/responses/{id}',
    (id) => getOf(`/v1/responses/resp_${id}?stream=true&starting_after=${CHUNKS + 3}`),
  ],
  [
    'POST /v1/chat/completions',
    () => postOf('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }),
  ],
  ['GetTask of A2A', (id) => getOf(`/a2a/tasks/${id}`, A2A)],
  ['ListTasks of A2A', () => getOf('/a2a/tasks?includeArtifacts=true&pageSize=1', A2A)],
  ['tasks/get of MCP', (id) => mcp('tasks/get', { taskId: id }, id)],
];

/** They write what the GET of the same view writes: of a response, of a task of A2A, and of a task of MCP. */
const SAME_VIEWS: View[] = [
  ['POST /v1/responses', () => postOf('/v1/responses', { input: 'Hi' })],
  [
    'SendMessage of A2A',
    () =>
      postOf(
        '/a2a/message:send',
        { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] } },
        A2A,
      ),
  ],
  ['tools/call of MCP', () => mcp('tools/call', { name: 'plain', arguments: { text: 'Hi' } }, 'plain')],
];

describeOnOneAdapter('Callers that do not read a long answer, on %s', (adapter) => {
  let host: Host;
  let runId: string;
  let stalled: Reply[];
  let connections: Set<Socket>;
  beforeAll(async () => {
    @Module({
      imports: [
        // It keeps the answers of all tests.
        QueryModule.forRoot({ handler, store: new MemoryRunStore({ totalLength: 16 * LENGTH }) }),
        ...[OpenAiModule.forRoot(), A2aModule.forRoot()],
        McpModule.forRoot({ tools: [{}, { name: 'plain', tasks: false }] }),
      ],
    })
    class AppModule {}
    host = await startHost(adapter, AppModule);
    connections = new Set();
    const server = host.app.getHttpServer() as Server;
    server.on('connection', (socket: Socket) => {
      connections.add(socket);
      socket.once('close', () => connections.delete(socket));
    });
    const run = await ask(host.url, 'Hi');
    runId = run.runId;
    await run.whole();
  });
  beforeEach(() => void (stalled = []));
  afterEach(async () => {
    for (const reply of stalled) reply.cut();
    await host.idle();
  });
  afterAll(() => host.close());

  const stall = async ([options, body]: Asked) => {
    const reply = await request(host.url, { ...options, isStalled: true }, body);
    stalled.push(reply);
    return reply;
  };
  /** What the process holds, and what waits for its connections, which Node keeps elsewhere. */
  const held = () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return [...connections].reduce((sum, { writableLength }) => sum + writableLength, heapUsed + external);
  };

  it.each(IS_LONG ? [...VIEWS, ...SAME_VIEWS] : VIEWS)(
    promise('backpressure.whole-answers', '%s'),
    async (_, askedOf) => {
      const asked = askedOf(runId);
      const whole = await (await request(host.url, ...asked)).whole();
      expect(whole.length).toBeGreaterThan(LENGTH);

      const before = held();
      for (let reader = 0; reader < READERS; reader++) expect((await stall(asked)).status).toBe(200);
      await ticks(1_000);
      expect((held() - before) / READERS).toBeLessThan(MIB);

      // A caller who reads on gets the same as one who has never stopped.
      expect((await stalled[0]!.whole()) === whole).toBe(true);
    },
  );

  it(promise('capacity.answers'), async () => {
    for (let turn = 0; turn < 8; turn++)
      await (await ask(host.url, 'Hi', { kwargs: { session_id: 'long' } })).whole();
    const page = getOf('/query/sessions/long');
    const short = getOf('/query/sessions');
    const other = new ServerResponse(new IncomingMessage(new Socket()));
    holdAnswer(other, MOST - LEFT);
    while ((await stall(page)).status === 200) expect(stalled.length * 7 * MIB).toBeLessThan(LEFT + 8 * MIB);

    const refused = stalled.pop()!;
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('5');
    expect(await refused.json()).toMatchObject({ code: 'at_capacity' });
    expect(stalled.length * 9 * MIB).toBeGreaterThan(LEFT - 9 * MIB);
    expect((await request(host.url, ...short)).status).toBe(200);

    stalled.pop()!.cut();
    await eventually(async () => {
      const { turns } = await (await request(host.url, ...page)).json<{ turns?: object[] }>();
      return turns?.length === 8;
    });
    other.emit('close');
  });
});
