import { once } from 'node:events';
import type http from 'node:http';
import { QueryError } from 'nest-agent-query';
import { contextOf, queryOf } from 'nest-agent-query/testing';
import { eventually } from '../../../test/support/conditions.js';
import { freePort } from '../../../test/support/free-port.mjs';
import {
  endlessRefusal,
  noAnswer,
  RemoteServer,
  switchedProtocol,
} from '../../../test/support/remote-service.js';
import { type A2aOptions, a2aHandler } from '../src/index.js';
import { joined, outcomeOf } from './outcomes.js';
import { type Answer, eventOf, events, json, refusal, result } from './raw-answers.js';
import { CARD, ReferenceAgent, text } from './reference-agent.js';

const KEY = 'k-4711';

/** An agent that lists its tasks, and has none yet. */
const EMPTY = result({ tasks: [], nextPageToken: '' });

const TASK_OF_1001 = {
  id: 't',
  contextId: 'c',
  artifacts: Array.from({ length: 1_001 }, (_, number) => ({
    artifactId: `a${number}`,
    parts: [{ text: '.' }],
  })),
};

describe('An agent that does not do what it should', () => {
  let server: RemoteServer;

  beforeEach(async () => {
    server = await RemoteServer.start();
  });
  afterEach(() => server.stop());

  const cardOf = (url: string, version = '1.0', streaming = true) => ({
    name: 'x',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: version }],
    capabilities: { streaming },
  });
  const card = () => json(cardOf(`${server.url}/a2a`));
  const handler = (options: Partial<A2aOptions> = {}) =>
    a2aHandler({ url: server.url + CARD, patienceMs: 0, headers: { 'X-Key': KEY }, ...options });

  async function failureOf(options: Partial<A2aOptions> = {}): Promise<QueryError> {
    const { failure } = await outcomeOf(handler(options), await contextOf());
    expect(failure).toBeInstanceOf(QueryError);
    return failure as QueryError;
  }

  it.each<[string, Answer[], string, string]>([
    ['sends no JSON', [events('{nonsense')], 'invalid_envelope', 'cannot be read'],
    [
      'sends JSON of another kind',
      [events('{"jsonrpc":"2.0","id":1,"result":{"x":1}}')],
      'invalid_envelope',
      '',
    ],
    ['sends an array', [events('[]')], 'invalid_envelope', ''],
    ['sends an event that is too long', [events(`"${'x'.repeat(5_000_000)}"`)], 'invalid_envelope', ''],
    ['sends a page', [json('<html>')], 'invalid_envelope', ''],
    ['has an error', [json('Oops at /srv/a.py', 500)], 'handler_failed', 'status 500'],
    ['does not know the credential', [json('no', 401)], 'handler_failed', 'credential'],
    ['redirects', [json('', 302, { Location: 'http://127.0.0.1:1/' })], 'handler_failed', 'status 302'],
    ['is overloaded', [json('', 429, { 'Retry-After': '1' })], 'rate_limited', ''],
    ['has no room', [json('', 503)], 'unavailable', ''],
    ['refuses the message', [refusal(-32602, 'Bad X-Key')], 'handler_failed', 'refused'],
    ['takes no files', [refusal(-32005, 'No files')], 'unsupported_media_type', ''],
    ['is cut and lists no tasks', [noAnswer, refusal(-32601, 'No such method')], 'interrupted', 'cut'],
    ['switches the protocol', [switchedProtocol, refusal(-32601, 'No such method')], 'interrupted', 'cut'],
    ['is cut and does not list the task', [noAnswer, EMPTY], 'interrupted', 'cut'],
    [
      'answers with too many artifacts',
      [events(eventOf({ task: TASK_OF_1001 }))],
      'limit_exceeded',
      '1000 artifacts',
    ],
    ['refuses without an end', [endlessRefusal(500, 'x')], 'handler_failed', 'status 500'],
    ['ends its response without an event', [events(), refusal(-32601, 'No')], 'interrupted', ''],
  ])('%s: the run fails with a sentence for callers', async (_, answers, code, words) => {
    server.answers(card(), ...answers);
    const failure = await failureOf();
    expect([failure.code, failure.message]).toEqual([code, expect.stringContaining(words)]);
    expect(failure.message).not.toMatch(/127\.0\.0\.1|\/srv|stack|nonsense/);
    // A message that may have been executed was sent once, and an agent that lists no tasks is asked for them once.
    expect(server.calls.filter(({ body }) => body.includes('SendStreamingMessage'))).toHaveLength(1);
    const asked = server.calls.filter(({ body }) => body.includes('ListTasks')).length;
    if (answers.length > 1 && answers[1] !== EMPTY) expect(asked).toBe(1);
  });

  it.each<[string, () => Answer, RegExp]>([
    ['is no JSON', () => json('<html>'), /cannot be read/],
    ['has no interface', () => json({ supportedInterfaces: [null] }), /cannot be read/],
    ['is no object', () => json('null'), /cannot be read/],
    ['is of A2A 0.3', () => json(cardOf(`${server.url}/a2a`, '0.3')), /no interface of A2A 1\.0/],
    ['names another origin', () => json(cardOf('http://127.0.0.1:1/a2a')), /at the origin of the card/],
    ['is not there', () => json('', 404), /404/],
    ['names no URL', () => json({ ...cardOf('nowhere'), supportedInterfaces: [{ url: 3 }] }), /interface/],
  ])('has a card that %s: nothing is sent', async (_, answer, why) => {
    server.answers(answer());
    const { code, cause } = await failureOf();
    expect([code, (cause as Error).message]).toEqual(['handler_failed', expect.stringMatching(why)]);
    expect(server.requests).toEqual([`GET ${CARD}`]);
  });

  it('gets the configured headers with every request, and its refusal is logged without their values', async () => {
    server.answers(card(), refusal(-32602, `The key ${KEY} is not known.`));
    const { cause } = await failureOf();
    expect(server.calls.map(({ headers }) => headers['x-key'])).toEqual([KEY, KEY]);
    expect((cause as Error).message).toContain('The key *** is not known.');
  });

  it('that is not there yet is waited for, and the message is sent once', async () => {
    const port = await freePort();
    const context = await contextOf();
    const url = `http://127.0.0.1:${port}${CARD}`;
    const going = outcomeOf(a2aHandler({ url, patienceMs: 30_000 }), context);
    const reference = await ReferenceAgent.start({ port });
    let busy = 3;
    reference.instead = ({ path }, response) => {
      if (path === CARD || busy-- <= 0) return false;
      response.status(503).set('Retry-After', '0').end();
      return true;
    };
    reference.script = (task) => task.reply([text('Here')]);
    const { envelopes, failure } = await going;
    expect([failure, joined(envelopes).length, reference.messages.length]).toEqual([undefined, 1, 1]);
    expect(reference.calls.filter((call) => call === 'SendStreamingMessage')).toHaveLength(4);
    await reference.stop();
  });

  it('whose card has no end is not read for ever', async () => {
    server.answers(endlessRefusal(200, '{'));
    expect((await failureOf()).code).toBe('invalid_envelope');
  });

  it('that nobody can reach is unavailable', async () => {
    const url = `http://127.0.0.1:${await freePort()}${CARD}`;
    expect((await failureOf({ url })).code).toBe('unavailable');
  });

  it('gets no files that are too large for a message', async () => {
    server.answers(card());
    const content = new Uint8Array(17 * 1024 * 1024);
    const query = [{ name: 'a.bin', mimeType: 'x/y', content }];
    const { failure } = await outcomeOf(handler(), await contextOf(), query);
    const { code, message } = failure as QueryError;
    expect([code, message]).toEqual(['limit_exceeded', expect.stringContaining('at most 16.0 MiB together')]);
    expect(server.requests).toEqual([]);
  });

  it('is cancelled where the run must stop before it has answered', async () => {
    const isHeld = Promise.resolve();
    const task = { id: 't1', contextId: '', status: { state: 'TASK_STATE_WORKING' } };
    server.answers(
      card(),
      () => void isHeld,
      (response, call) => {
        const { params } = JSON.parse(call.body) as { params: { contextId: string } };
        const history = [{ messageId: 'test-run', role: 'ROLE_USER', parts: [] }];
        result({ tasks: [{ ...task, ...params, history }] })(response, call);
      },
      result(task),
    );
    const context = await contextOf();
    const going = outcomeOf(handler(), context);
    await eventually(() => server.calls.length === 2);
    context.abort();
    await going;
    const methods = server.calls.slice(1).map(({ body }) => (JSON.parse(body) as { method: string }).method);
    expect(methods).toEqual(['SendStreamingMessage', 'ListTasks', 'CancelTask']);
    expect(server.calls[3]!.body).toContain('"id":"t1"');
  });

  it('that begins with artifacts is stored as one of which nothing was passed on', async () => {
    const artifacts = [{ artifactId: 'a', parts: [{ text: 'One' }, { url: 'https://example.com' }] }];
    const task = { id: 't', contextId: 'c', artifacts, status: { state: 'TASK_STATE_WORKING' } };
    server.answers(card(), events(eventOf({ task })));
    const context = await contextOf();
    const answer = handler().handle(await queryOf('x'), context) as AsyncIterable<unknown>;
    const iterator = answer[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.return!();
    expect(context.checkpoints).toEqual([{ isSent: true }, { task: 't', artifacts: {}, hasResult: false }]);
  });

  it('that goes on before it is answered says so', async () => {
    const parts = [{ text: 'Done.' }];
    const asking = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_INPUT_REQUIRED' } };
    const status = { state: 'TASK_STATE_COMPLETED' };
    const ended = result({ ...asking, status, artifacts: [{ artifactId: 'a', parts }] });
    const late = refusal(-32004, 'It has ended.');
    server.answers(card(), events(eventOf({ task: asking })), late, ended, late, ended);
    expect(await outcomeOf(handler(), await contextOf())).toEqual({
      envelopes: [
        {
          type: 'log',
          data: { message: 'The remote agent had its answer already, and goes on with that one.' },
        },
        { type: 'message', data: { id: 'a', content: 'Done.' } },
      ],
    });
  });

  it('that nobody can reach does not hold up a cancelled run', async () => {
    server.answers(card(), () => undefined);
    const context = await contextOf();
    const going = outcomeOf(handler({ patienceMs: 60_000 }), context);
    await eventually(() => server.calls.length === 2);
    await server.stop();
    context.abort();
    expect((await going).envelopes).toEqual([]);
    server = await RemoteServer.start();
  });

  it('that sends without an end is read only as fast as its answer', async () => {
    let written = 0;
    let stream: http.ServerResponse | undefined;
    server.answers(
      card(),
      (response, { body }) => {
        const { id } = JSON.parse(body) as { id: number };
        stream = response;
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        const artifact = { artifactId: 'a', parts: [{ text: 'x'.repeat(60_000) }] };
        const update = { taskId: 't', contextId: 'c', artifact, append: true };
        const event = `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { artifactUpdate: update } })}\n\n`;
        const write = async () => {
          while (!response.destroyed && written < 200_000_000) {
            written += event.length;
            if (!response.write(event)) await once(response, 'drain');
          }
        };
        write().catch(() => undefined);
      },
      result({}),
    );
    const context = await contextOf();
    const iterator = (handler().handle(await queryOf('x'), context) as AsyncIterable<unknown>)[
      Symbol.asyncIterator
    ]();
    await iterator.next();
    await eventually(() => stream!.writableNeedDrain);
    for (let turn = 0; turn < 1_000; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(written).toBeLessThan(50_000_000);
    await iterator.return!();
    await eventually(() => stream!.destroyed);
  });
});
