/**
 * What callers cost that ask for a long answer and do not read it, in every view: as one JSON document, and as a stream near its end.
 *
 *     npm run build && node test/bench/stalled-answers.mjs [readers] [MiB] [express|fastify] [part of the name of a view]
 *
 * Each view has a service in a process of its own, with a heap of 2 GiB. One caller reads the answer. Then others ask for the same
 * and read nothing. Growth is that of the resident memory of the service, after a garbage collection, for each of them. At last one
 * of them reads on, and must get what the first caller got.
 */
import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const [readers = 20, mebibytes = 48] = process.argv.slice(2, 4).map(Number);
const adapter = process.argv[4] ?? 'fastify';
const wanted = process.argv[5] ?? '';

const CHUNK = 'some letters of an answer, '.repeat(76).slice(0, 2048);
const CHUNKS = Math.ceil((mebibytes * 2 ** 20) / CHUNK.length);
const JSON_TYPE = { 'content-type': 'application/json' };
const A2A = { 'a2a-version': '1.0', 'a2a-extensions': 'urn:nest-agent-query:cursor:v1' };
const KEY = { ...JSON_TYPE, 'idempotency-key': 'the-answer' };
/** An event in the middle of a stream: no buffer takes the rest. */
const LATE = Math.floor(CHUNKS / 2);

const get = (path, headers = {}) => ({ method: 'GET', path, headers });
const post = (path, body, headers = JSON_TYPE) => ({
  method: 'POST',
  path,
  headers,
  body: JSON.stringify(body),
});
const mcp = (method, params, name) =>
  post(
    '/mcp',
    {
      ...{ jsonrpc: '2.0', id: 1, method },
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
          'io.modelcontextprotocol/clientCapabilities': {
            extensions: { 'io.modelcontextprotocol/tasks': {} },
          },
        },
      },
    },
    {
      ...KEY,
      ...{ accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28' },
      ...{ 'mcp-method': method, 'mcp-name': name },
    },
  );

/** What is asked for, by what it is; each of a run that exists, or with a key that makes all of them one run. */
const VIEWS = {
  'the stream of the endpoint': (id) => get(`/query/${id}`, { accept: 'text/event-stream' }),
  'OpenAI: a response': (id) => get(`/v1/responses/resp_${id}`),
  'OpenAI: the end of the stream of a response': (id) =>
    get(`/v1/responses/resp_${id}?stream=true&starting_after=${CHUNKS + 3}`),
  'OpenAI: the stream of a response from its middle on': (id) =>
    get(`/v1/responses/resp_${id}?stream=true&starting_after=${LATE}`),
  'OpenAI: a new response': () => post('/v1/responses', { input: 'Hi' }, KEY),
  'OpenAI: a chat completion': () =>
    post('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }, KEY),
  'A2A: GetTask': (id) => get(`/a2a/tasks/${id}`, A2A),
  'A2A: SendMessage': () =>
    post(
      '/a2a/message:send',
      { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] } },
      { ...JSON_TYPE, ...A2A },
    ),
  'A2A: ListTasks with artifacts': () => get('/a2a/tasks?includeArtifacts=true', A2A),
  'A2A: the stream of a task from its middle on': (id) => ({
    ...get(`/a2a/tasks/${id}:subscribe`, { ...A2A, 'last-event-id': `${id}.${LATE}` }),
  }),
  'MCP: tasks/get': (id) => mcp('tasks/get', { taskId: id }, id),
  'MCP: tools/call': () => mcp('tools/call', { name: 'plain', arguments: { text: 'Hi' } }, 'plain'),
  'AI SDK: the stream of a chat': (id) => get(`/ai/chat/${id}/stream?startIndex=${LATE}`),
  'AG-UI: the stream of a run': (id) => get(`/ag-ui?runId=${id}&offset=${id}.${LATE}`),
  'a page of the turns of a session': () => get('/query/sessions/long?limit=500'),
  'OpenAI: the items of a conversation': () => get('/v1/conversations/long/items?limit=100'),
};

if (process.send) await serve();
else await measureAll();

async function serve() {
  await import('reflect-metadata');
  const { Module } = await import('@nestjs/common');
  const { NestFactory } = await import('@nestjs/core');
  const { message, QueryModule, toolResult } = await import('../../dist/index.js');
  const { AiSdkModule } = await import('nest-agent-query-protocols/ai-sdk');
  const { AgUiModule } = await import('nest-agent-query-protocols/ag-ui');
  const { A2aModule } = await import('nest-agent-query-protocols/a2a');
  const { OpenAiModule } = await import('nest-agent-query-protocols/openai');
  const { McpModule } = await import('nest-agent-query-mcp');
  const handler = async function* ({ kwargs }) {
    // A turn keeps at most 1 MiB of envelopes.
    if (kwargs.session_id === 'long') yield toolResult('call', 'x'.repeat(2 ** 20 - 4096));
    else for (let left = CHUNKS; left > 0; left--) yield message(CHUNK);
  };
  class AppModule {}
  Module({
    imports: [
      ...[QueryModule.forRoot({ handler }), AiSdkModule.forRoot(), AgUiModule.forRoot(), A2aModule.forRoot()],
      ...[OpenAiModule.forRoot(), McpModule.forRoot({ tools: [{}, { name: 'plain', tasks: false }] })],
    ],
  })(AppModule);
  const { [adapter === 'express' ? 'ExpressAdapter' : 'FastifyAdapter']: Adapter } = await import(
    `@nestjs/platform-${adapter}`
  );
  const app = await NestFactory.create(AppModule, new Adapter(), { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  process.on('message', () => {
    for (let i = 0; i < 3; i++) globalThis.gc();
    process.send(process.memoryUsage());
  });
  process.on('disconnect', () => process.exit());
  process.send(await app.getUrl());
}

async function measureAll() {
  console.log(
    `${readers} readers that stop, an answer of ${mebibytes} MiB, ${adapter}, Node ${process.version}`,
  );
  console.log(`${''.padEnd(54)} growth per reader   refused   the rest`);
  for (const [name, requestOf] of Object.entries(VIEWS)) {
    if (!name.includes(wanted)) continue;
    console.log(`${name.padEnd(54)} ${await measured(requestOf).catch((error) => error.message)}`);
  }
}

async function measured(requestOf) {
  const service = fork(fileURLToPath(import.meta.url), process.argv.slice(2), {
    execArgv: ['--expose-gc', '--max-old-space-size=2048'],
    stdio: ['inherit', 'ignore', 'ignore', 'ipc'],
  });
  const ended = once(service, 'exit').then(() => {
    throw new Error('the process has ended');
  });
  ended.catch(() => undefined);
  const sockets = [];
  try {
    return await Promise.race([ended, stalled(service, requestOf, sockets)]);
  } finally {
    for (const socket of sockets) socket.destroy();
    service.kill('SIGKILL');
  }
}

async function stalled(service, requestOf, sockets) {
  const [url] = await once(service, 'message');
  const memory = async () => {
    service.send('memory');
    return (await once(service, 'message'))[0].rss;
  };
  /** Waits until the memory does not change any more. */
  const settled = async () => {
    let before = await memory();
    for (let calm = 0; calm < 4;) {
      await pause(250);
      const now = await memory();
      calm = Math.abs(now - before) < 2 ** 20 ? calm + 1 : 0;
      before = now;
    }
    return before;
  };
  const id = await submitted(url);
  const asked = requestOf(id);
  const first = await digestOf(await open(url, asked));
  const idle = await settled();
  const replies = await Promise.all(Array.from({ length: readers }, () => open(url, asked)));
  for (const reply of replies) sockets.push(reply.socket);
  const growth = (await settled()) - idle;
  const refused = replies.filter(({ statusCode }) => statusCode === 503).length;
  const reader = replies.find(({ statusCode }) => statusCode === 200);
  const isWhole = reader !== undefined && (await digestOf(reader)) === first;
  const each = `${(growth / readers / 2 ** 20).toFixed(2)} MiB`;
  return `${each.padStart(17)} ${String(refused).padStart(9)}   ${isWhole ? 'is the same' : 'is WRONG'}`;
}

/** Submits the run of the views that show one that exists, and turns of a session; waits until it has ended. */
async function submitted(url) {
  const parts = [{ type: 'text', text: 'Hi' }];
  for (let turn = 0; turn < 10; turn++)
    await digestOf(await open(url, post('/query', { parts, kwargs: { session_id: 'long' } })));
  const reply = await open(url, post('/query', { parts }, JSON_TYPE));
  const id = reply.headers['content-location'].split('/').at(-1);
  await digestOf(reply);
  return id;
}

/** Sends a request; nothing of the body of the response is read. */
async function open(url, { method, path, headers, body }) {
  const sent = request(`${url}${path}`, { method, headers, agent: false });
  sent.on('error', () => undefined);
  sent.end(body);
  const [reply] = await once(sent, 'response');
  reply.on('error', () => undefined);
  return reply;
}

async function digestOf(reply) {
  const hash = createHash('sha256');
  for await (const chunk of reply) hash.update(chunk);
  return hash.digest('hex');
}
