/** `node:http` and nothing else: the limit. */
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { isPulled, pull, push } from '../work.mjs';
import { message, planOf } from './query.mjs';

const HEADERS = { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-cache' };

async function serve(answer) {
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const plan = planOf(JSON.parse(Buffer.concat(chunks).toString()));
    response.writeHead(200, HEADERS).flushHeaders();
    answer(plan, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}

/** One write per event, of text that was made before. */
export function perEvent() {
  let made;
  let frame;
  return serve((plan, response) => {
    const emit = (text) => {
      if (text !== made) frame = `data: ${JSON.stringify(message(text))}\n\n`;
      made = text;
      response.write(frame);
    };
    response.on(
      'close',
      push(plan, emit, () => response.end()),
    );
  });
}

/** JSON is made for each event; what was emitted in one tick leaves with one write. */
export function perTick() {
  let due = [];
  const flush = () => {
    const flushed = due;
    due = [];
    for (const one of flushed) {
      one.response.write(one.text);
      one.text = '';
    }
  };
  const writer = (response) => {
    const one = { response, text: '' };
    return (text) => {
      if (one.text === '' && due.push(one) === 1) setImmediate(flush);
      one.text += `data: ${JSON.stringify(message(text))}\n\n`;
    };
  };
  return serve((plan, response) => {
    if (isPulled(plan)) return void pullInto(response, plan);
    const end = () => setImmediate(() => response.end());
    response.on('close', push(plan, writer(response), end));
  });
}

/** As many events as the connection takes, some 16 kB a write. */
async function pullInto(response, plan) {
  let text = '';
  let goOn;
  for (const event of ['drain', 'close']) response.on(event, () => goOn?.());
  for await (const word of pull(plan)) {
    text += `data: ${JSON.stringify(message(word))}\n\n`;
    if (text.length < 16_384) continue;
    if (!response.write(text)) await new Promise((resolve) => (goOn = resolve));
    if (response.destroyed) return;
    text = '';
  }
  response.end(text);
}
