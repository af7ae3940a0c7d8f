/**
 * A run of 30 seconds with a silence of 20, at the default keep-alive, on both adapters, read by four clients at once: one
 * that parses every line that is not empty, one that cuts at blank lines, npm `eventsource-parser` and npm
 * `@microsoft/fetch-event-source`. Fails unless each of them reads the same envelopes to the end.
 *
 * npm run build && node test/bench/silent-run.mjs
 */
import 'reflect-metadata';
import { deepStrictEqual } from 'node:assert';
import { TextDecoderStream } from 'node:stream/web';
import { setTimeout as wait } from 'node:timers/promises';
import fetchEventSourcePackage from '@microsoft/fetch-event-source';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { createParser } from 'eventsource-parser';
import { log, message, QueryModule } from '../../dist/index.js';

const { fetch } = globalThis;
const { fetchEventSource } = fetchEventSourcePackage;
const SILENCE_MS = 20_000;
const STEP_MS = 1_000;

async function* think() {
  for (let n = 1; n <= 5; n++, await wait(STEP_MS)) yield log(`step ${n}`);
  await wait(SILENCE_MS);
  for (let n = 1; n <= 5; n++, await wait(STEP_MS)) yield message(`word ${n}\n\n`);
}

const EXPECTED = [
  ...[1, 2, 3, 4, 5].map((n) => log(`step ${n}`)),
  ...[1, 2, 3, 4, 5].map((n) => message(`word ${n}\n\n`)),
  { type: 'done', data: { status: 'completed' } },
];

const ASK = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"parts":[{"type":"text","text":"Hello"}]}',
};

/** Hands over what stands between separators. */
async function cut(url, separator, each) {
  const response = await fetch(`${url}/query`, ASK);
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const pieces = (rest + text).split(separator);
    rest = pieces.pop();
    pieces.forEach(each);
  }
}

const CLIENTS = {
  async 'every line that is not empty'(url, take) {
    await cut(url, '\n', (line) => line && take(line.replace(/^data: /, '')));
  },
  async 'cut at blank lines'(url, take) {
    await cut(url, '\n\n', (block) => block.trim() && take(block.trim().slice('data: '.length)));
  },
  async 'eventsource-parser'(url, take) {
    const headers = { ...ASK.headers, accept: 'text/event-stream' };
    const parser = createParser({ onEvent: ({ data }) => take(data) });
    const response = await fetch(`${url}/query`, { ...ASK, headers });
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) parser.feed(text);
  },
  async '@microsoft/fetch-event-source'(url, take) {
    const onmessage = ({ data }) => data && take(data);
    const onerror = (error) => {
      throw error;
    };
    await fetchEventSource(`${url}/query`, { ...ASK, onmessage, onerror });
  },
};

const nothing = () => undefined;
globalThis.document = { hidden: false, addEventListener: nothing, removeEventListener: nothing };
globalThis.window = globalThis;

async function readAll(adapterName, adapter) {
  const app = await NestFactory.create(QueryModule.forRoot({ handler: think }), adapter, { logger: false });
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const reading = Object.entries(CLIENTS).map(async ([name, read]) => {
    const began = Date.now();
    const envelopes = [];
    await read(url, (json) => envelopes.push(JSON.parse(json)));
    deepStrictEqual(envelopes, EXPECTED);
    const seconds = ((Date.now() - began) / 1000).toFixed(1);
    console.log(`${adapterName}, ${name}: ${envelopes.length} envelopes in ${seconds} s`);
  });
  await Promise.all(reading);
  await app.close();
}

await Promise.all([readAll('Express', new ExpressAdapter()), readAll('Fastify', new FastifyAdapter())]);
