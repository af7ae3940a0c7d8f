/**
 * Whether the time of an answer tells an id of another owner from an id that does not exist: each call is sent for both kinds of
 * id in turns, in random order, and the two samples are compared. Prints a table; judges nothing.
 *
 * node test/chaos/owners-timing.mjs [--samples 2000] [--adapter fastify] [--store memory:]
 */
import { createServer } from 'node:http';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import 'reflect-metadata';
import { Module, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { AccessGuard, AccessModule, createApiKey, ownerOf } from '../../dist/access/index.js';
import { QueryModule } from '../../dist/index.js';
import { openStore } from '../../dist/stores/index.js';

const WARM_UP = 200;
const RUNS = 50;
const FULL = { accept: 'text/event-stream' };

const { values: options } = parseArgs({
  options: {
    samples: { type: 'string', default: '2000' },
    adapter: { type: 'string', default: 'fastify' },
    store: { type: 'string', default: 'memory:' },
  },
});
const samples = Number(options.samples);

const [ann, bob] = [createApiKey('ann'), createApiKey('bob')];
const issuer = await startIssuer();
const app = await startHost(options.adapter, await openStore(options.store));
const url = await app.getUrl();
const connections = new Agent({ connections: 1, pipelining: 1 });

const owner = { authorization: `Bearer ${ann.key}` };
const callers = [
  ['a key', { 'x-api-key': bob.key }],
  ['a token', { authorization: `Bearer ${await issuer.token('ann')}` }],
];
const calls = [
  ['run as JSON', 'GET', (id) => `/query/${id.run}`, {}],
  ['follow', 'GET', (id) => `/query/${id.run}`, FULL],
  ['cancel', 'DELETE', (id) => `/query/${id.run}`, {}],
  ['file', 'GET', (id) => `/query/${id.run}/files/${'0'.repeat(64)}`, {}],
  ['session', 'GET', (id) => `/query/sessions/${id.session}`, {}],
  ['erase', 'DELETE', (id) => `/query/sessions/${id.session}`, {}],
  ['resume by POST', 'POST', () => '/query', (id) => ({ 'last-event-id': `${id.run}.1` })],
];

const foreign = [];
for (let count = 0; count < RUNS; count++) foreign.push(await ask(`session-${count}`));

console.log(`${options.adapter}, ${options.store}, ${samples} requests of each kind; times in µs`);
const rows = [];
for (const [caller, credential] of callers) {
  for (const [call, method, pathOf, more] of calls) {
    const send = (id) =>
      timed(method, pathOf(id), { ...credential, ...(more instanceof Function ? more(id) : more) });
    rows.push({ caller, call, ...compared(await measured(send)) });
  }
}
console.table(rows);
console.log(
  'z is the statistic of the Mann-Whitney test. If there is no difference, one row is within ±1.96 in 95 of 100 cases, and all ' +
    `${rows.length} rows are within ±3.1 in 97 of 100 cases.`,
);
await connections.close();
await app.close();
issuer.close();

/** Times of both kinds of ids, sent one after another in an order that is drawn for each pair. */
async function measured(send) {
  const times = { foreign: [], unknown: [] };
  for (let count = -WARM_UP; count < samples; count++) {
    const ids = {
      foreign: foreign[Math.floor(Math.random() * RUNS)],
      unknown: { run: crypto.randomUUID(), session: `session-${RUNS + Math.floor(Math.random() * RUNS)}` },
    };
    const order = Math.random() < 0.5 ? ['foreign', 'unknown'] : ['unknown', 'foreign'];
    for (const kind of order) {
      const time = await send(ids[kind]);
      if (count >= 0) times[kind].push(time);
    }
  }
  return times;
}

async function timed(method, path, headers) {
  const begin = process.hrtime.bigint();
  const { statusCode, body } = await request(url + path, { method, headers, dispatcher: connections });
  await body.dump();
  if (statusCode !== 404) throw new Error(`${method} ${path} was answered with ${statusCode}.`);
  return Number(process.hrtime.bigint() - begin) / 1000;
}

/** The medians, and the statistic of Mann and Whitney with the normal approximation. */
function compared({ foreign: first, unknown: second }) {
  const all = [...first.map((time) => [time, true]), ...second.map((time) => [time, false])];
  all.sort(([a], [b]) => a - b);
  const rankSum = all.reduce((sum, [, isFirst], index) => (isFirst ? sum + index + 1 : sum), 0);
  const [m, n] = [first.length, second.length];
  const u = rankSum - (m * (m + 1)) / 2;
  const z = (u - (m * n) / 2) / Math.sqrt((m * n * (m + n + 1)) / 12);
  return {
    'another owner': median(first),
    unknown: median(second),
    difference: Number((median(first) - median(second)).toFixed(1)),
    z: Number(z.toFixed(2)),
  };
}

function median(times) {
  return Number([...times].sort((a, b) => a - b)[Math.floor(times.length / 2)].toFixed(1));
}

async function ask(session) {
  const { headers, body } = await request(`${url}/query`, {
    method: 'POST',
    headers: { ...owner, 'content-type': 'application/json' },
    body: JSON.stringify({ parts: [{ type: 'text', text: 'Hi' }], kwargs: { session_id: session } }),
  });
  await body.dump();
  return { run: headers['content-location'].split('/').at(-1), session };
}

async function startHost(adapter, store) {
  class HostModule {}
  const imports = [
    AccessModule.forRoot({ keys: [ann.configured, bob.configured], jwt: { jwksUrl: issuer.jwksUrl } }),
    QueryModule.forRoot({
      store,
      decorators: [UseGuards(AccessGuard)],
      owner: ownerOf,
      async *handler() {
        yield { type: 'message', data: { content: 'Hi' } };
      },
    }),
  ];
  Module({ imports })(HostModule);
  const http = adapter === 'express' ? new ExpressAdapter() : new FastifyAdapter();
  const host = await NestFactory.create(HostModule, http, { logger: ['error'] });
  await host.listen(0, '127.0.0.1');
  return host;
}

async function startIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'a' }];
  const server = createServer((_request, response) => response.end(JSON.stringify({ keys })));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const token = (subject) =>
    new SignJWT({ iss: 'https://idp.example' })
      .setProtectedHeader({ alg: 'ES256', kid: 'a' })
      .setSubject(subject)
      .setExpirationTime('1h')
      .sign(privateKey);
  return { jwksUrl: `http://127.0.0.1:${server.address().port}/keys`, token, close: () => server.close() };
}
