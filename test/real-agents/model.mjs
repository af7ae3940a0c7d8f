import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { anthropic } from './model/anthropic.mjs';
import { gemini } from './model/gemini.mjs';
import { chat } from './model/openai-chat.mjs';
import { responses } from './model/openai-responses.mjs';
import { ordersIn, stepsOf } from './model/script.mjs';

const APIS = [responses, chat, anthropic, gemini];

/** The endpoint of a model that does what the prompt says, with the interfaces of OpenAI, Anthropic and Google. */
export class Model {
  /** What was asked, in order: `{ path, hasTools, orders }`, where orders are all that the model saw. */
  requests = [];
  #server;

  static async start() {
    const model = new Model();
    await once(model.#server.listen(0, '127.0.0.1'), 'listening');
    return model;
  }

  constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error) => {
        if (!response.headersSent) response.writeHead(500);
        response.end(error.message);
      });
    });
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  /** Whether it was asked with this order as the newest one. */
  hasSeen(text) {
    const newest = this.requests.map(({ orders }) => orders.at(-1));
    return newest.some((order) => order && `DO ${order.verb} ${order.argument}`.trim() === text);
  }

  stop() {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request, response) {
    const { pathname } = new URL(request.url, this.url);
    const api = APIS.find(({ path }) => path.test(pathname));
    const body = request.method === 'POST' ? await json(request) : {};
    if (!api) return answerAside(pathname, response);
    const asked = api.read(body);
    this.requests.push({
      path: pathname,
      hasTools: asked.tools.length > 0,
      orders: ordersIn(asked.messages),
    });
    const wantsStream = body.stream === true || pathname.endsWith(':streamGenerateContent');
    await (wantsStream ? stream : whole)(api, asked, response);
  }
}

/** Counting of tokens, and lists of models. */
function answerAside(pathname, response) {
  const isCount = /count_?tokens/i.test(pathname);
  const answer = isCount
    ? { totalTokens: 11, input_tokens: 11 }
    : { object: 'list', data: [{ id: 'scripted', object: 'model' }] };
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
}

async function whole(api, asked, response) {
  let text = '';
  for await (const step of stepsOf(asked)) {
    if (step.kind === 'status') return fail(api, step, response);
    if (step.kind === 'text') text += step.text;
  }
  response.setHeader('content-type', 'application/json').end(JSON.stringify(api.writer().whole(text)));
}

async function stream(api, asked, response) {
  const writer = api.writer();
  const write = (events) => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const { name, data } of events)
      response.write(
        `${name ? `event: ${name}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
      );
  };
  let hasBegun = false;
  for await (const step of stepsOf(asked)) {
    if (response.destroyed) return;
    if (step.kind === 'status') return fail(api, step, response);
    if (step.kind === 'wait') return;
    if (step.kind === 'cut') return response.socket.destroy();
    if (!hasBegun) write(writer.begin());
    hasBegun = true;
    write(step.kind === 'call' ? writer.call(step) : writer[step.kind](step.text));
  }
  write(writer.end());
  response.end();
}

function fail(api, { code }, response) {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(api.failure(code)));
}
