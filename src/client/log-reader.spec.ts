import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentQueryClient, type AgentQueryClientOptions, type AgentQueryError } from './index.js';

type Respond = (request: http.IncomingMessage, response: http.ServerResponse) => void;

/** Answers with the head of a stream and these bytes. The response stays open, unless it is cut or has `done`. */
const stream =
  (bytes: string, { isCut = false } = {}): Respond =>
  (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Content-Location': '/query/r' });
    response.write(bytes, () => isCut && response.destroy());
    if (bytes.includes('"done"')) response.end();
  };

const event = (seq: number, type: string, data: unknown) =>
  `id: r.${seq}\ndata: ${JSON.stringify({ type, data })}\n\n`;
const DONE = { status: 'completed' };

describe('The client, of a server that answers with literal bytes,', () => {
  let server: http.Server;
  /** The requests: method, path and cursor. */
  let requests: [string, string, string?][];
  let client: AgentQueryClient;

  /** Each request is answered by the next function, and by the last one from then on. */
  const start = async (responds: Respond[], options: AgentQueryClientOptions = {}) => {
    requests = [];
    server = http.createServer((request, response) => {
      const { method, url, headers } = request;
      const cursor = headers['last-event-id'];
      requests.push([method!, url!, ...(cursor === undefined ? [] : [cursor as string])] as [string, string]);
      responds[Math.min(requests.length, responds.length) - 1]!(request, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    client = new AgentQueryClient({ baseUrl, ...options });
  };
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  const failureOf = (answer: { text(): Promise<string> }) =>
    answer.text().then(
      () => Promise.reject(new Error('It did not fail.')),
      (error: unknown) => error as AgentQueryError,
    );

  it('leaves out of text() and result() what restarted makes void, and yields restarted', async () => {
    await start([
      stream(
        'retry: 1\n' +
          event(1, 'message', { content: 'a' }) +
          event(2, 'message', { content: 'void' }) +
          event(3, 'usage', { inputTokens: 5, outputTokens: 5 }) +
          event(4, 'restarted', { attempt: 2, from: 1 }) +
          event(5, 'message', { content: 'b' }) +
          event(6, 'restarted', { attempt: 3, from: 4 }) +
          event(7, 'message', { content: 'c' }) +
          event(8, 'done', DONE),
      ),
    ]);
    const answer = client.ask('x');
    const types: string[] = [];
    for await (const { type } of answer) types.push(type);
    expect(types.join(' ')).toBe('message message usage restarted message restarted message done');
    expect(await answer.text()).toBe('ac');
    expect(await answer.result()).toEqual({
      runId: 'r',
      status: 'completed',
      text: 'ac',
      files: [],
      envelopes: [
        { type: 'message', data: { content: 'a' } },
        { type: 'message', data: { content: 'c' } },
      ],
    });
  });

  it('goes on after the last envelope when a stream ends without done', async () => {
    await start([
      stream('retry: 1\n' + event(1, 'message', { content: 'a' }), { isCut: true }),
      (_, response) =>
        response
          .writeHead(200, { 'Content-Type': 'text/event-stream' })
          .end(event(2, 'message', { content: 'b' })),
      stream(event(2, 'message', { content: 'b' }) + event(3, 'done', DONE)),
    ]);
    expect(await client.ask('x').text()).toBe('ab');
    expect(requests).toEqual([
      ['POST', '/query'],
      ['GET', '/query/r', 'r.1'],
      ['GET', '/query/r', 'r.2'],
    ]);
  });

  it('asks again when an envelope is missing, and skips those that it has', async () => {
    await start([
      stream('retry: 1\n' + event(1, 'log', { message: 'a' }) + event(3, 'done', DONE)),
      stream(
        event(1, 'log', { message: 'a' }) + event(2, 'message', { content: 'b' }) + event(3, 'done', DONE),
      ),
    ]);
    expect(await client.ask('x').text()).toBe('b');
    expect(requests[1]).toEqual(['GET', '/query/r', 'r.1']);
  });

  it('takes a stream that is silent for too long as cut', async () => {
    await start(
      [stream('retry: 1\n' + event(1, 'message', { content: 'a' })), stream(event(2, 'done', DONE))],
      { idleTimeoutMs: 50 },
    );
    expect(await client.ask('x').text()).toBe('a');
    expect(requests).toHaveLength(2);
  });

  it('takes a service that gives no response for too long as lost', async () => {
    await start([() => undefined], { idleTimeoutMs: 50, maxRetries: 0 });
    expect(await failureOf(client.ask('x'))).toMatchObject({ code: 'connection_lost' });
  });

  it('sends the same idempotency key with each try, and another with each query', async () => {
    const keys: unknown[] = [];
    const note =
      (respond: Respond): Respond =>
      (request, response) => {
        keys.push(request.headers['idempotency-key']);
        respond(request, response);
      };
    const refuse: Respond = (_, response) => response.writeHead(503, { 'Retry-After': '0' }).end();
    await start([note(refuse), note(stream('retry: 1\n' + event(1, 'done', DONE)))]);
    await client.ask('x').text();
    await client.ask('x').text();
    await client.ask('x', { idempotencyKey: 'mine' }).text();
    expect(keys[0]).toBe(keys[1]);
    expect(new Set(keys).size).toBe(3);
    expect(keys[3]).toBe('mine');
  });

  it.each([
    ['a page', 200, { 'Content-Type': 'text/html' }, '<html>', 'The response is no event stream.'],
    [
      'events without ids',
      200,
      { 'Content-Type': 'text/event-stream' },
      'data: {}\n\n',
      'An event of the stream has no id.',
    ],
    [
      'events that are not JSON',
      200,
      { 'Content-Type': 'text/event-stream' },
      'id: r.1\ndata: {\n\n',
      'An event of the stream is not JSON.',
    ],
    [
      'a 202 that names no run',
      202,
      { 'Content-Type': 'application/json' },
      '{}',
      'The response names no run.',
    ],
  ])('refuses %s as no response of the service, at once', async (_what, status, headers, bytes, message) => {
    await start([(_, response) => response.writeHead(status, headers).end(bytes)]);
    expect(await failureOf(client.ask('x'))).toMatchObject({
      code: 'invalid_response',
      message: `${message} Is this the address of the service?`,
    });
    expect(requests).toHaveLength(1);
  });

  it('tells the status of a refusal that is not of the service', async () => {
    await start([(_, response) => response.writeHead(413).end('<html>')]);
    expect(await failureOf(client.ask('x'))).toMatchObject({
      code: 'refused',
      status: 413,
      message: 'The service answered 413, and gave no reason.',
    });
  });

  it('gives up when tries make no progress, and a later reader tries again', async () => {
    await start(
      [
        stream('retry: 1\n' + event(1, 'message', { content: 'a' }), { isCut: true }),
        stream('', { isCut: true }),
        stream('', { isCut: true }),
        stream('', { isCut: true }),
        stream(event(2, 'done', DONE)),
      ],
      { maxRetries: 2 },
    );
    const tries: number[] = [];
    const answer = client.ask('x', { onResume: ({ attempt, after }) => tries.push(attempt, after) });
    expect(await failureOf(answer)).toMatchObject({ code: 'connection_lost', runId: 'r' });
    expect(tries).toEqual([1, 1, 2, 1]);
    expect(await answer.text()).toBe('a');
  });

  it('does not wait where Retry-After is longer than a minute', async () => {
    await start([(_, response) => response.writeHead(429, { 'Retry-After': '61' }).end()]);
    expect(await failureOf(client.ask('x'))).toMatchObject({ status: 429, retryAfterMs: 61_000 });
    expect(requests).toHaveLength(1);
  });

  it('repeats a request for JSON that was cut, and sends headers that a function returns', async () => {
    const tokens: unknown[] = [];
    let count = 0;
    await start(
      [
        (_, response) => {
          response.writeHead(200, { 'Content-Length': 100 });
          response.write('{', () => response.destroy());
        },
        (request, response) => {
          tokens.push(request.headers.authorization);
          response.end('{"id":"r"}');
        },
      ],
      { headers: () => Promise.resolve({ Authorization: `Bearer ${++count}` }) },
    );
    expect(await client.run('r')).toEqual({ id: 'r' });
    expect(tokens).toEqual(['Bearer 2']);
  });

  it('takes a session as erased when the response was lost and the repeated request finds no session', async () => {
    const refuse: Respond = (_, response) =>
      response.writeHead(404).end('{"code":"not_found","detail":"There is no such session."}');
    await start([(_, response) => response.destroy(), refuse]);
    expect(await client.erase('s')).toBeUndefined();
    await expect(client.erase('s')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('stops waiting for a try when its signal aborts', async () => {
    await start([(_, response) => response.writeHead(503, { 'Retry-After': '30' }).end()]);
    const leaving = new AbortController();
    const reason = new Error('enough');
    const options = { signal: leaving.signal, onResume: () => leaving.abort(reason) };
    expect(await failureOf(client.ask('x', options))).toBe(reason);
    expect(await failureOf(client.follow('r', 0, options))).toBe(reason);
  });

  it('gives up a query that the service has refused for now when it is cancelled', async () => {
    await start([(_, response) => response.writeHead(503, { 'Retry-After': '30' }).end()]);
    const waits = new Promise<void>((resolve) => {
      const answer = client.ask('x', {
        onResume: () =>
          void answer.cancel().then((run) => {
            expect(run).toBeUndefined();
            resolve();
          }),
      });
    });
    await waits;
    expect(requests).toEqual([['POST', '/query']]);
  });
});
