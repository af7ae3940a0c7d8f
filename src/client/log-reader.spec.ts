import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { AgentQueryClient, type AgentQueryClientOptions, type AgentQueryError } from './index.js';
import { deferred } from '../../test/support/conditions.js';

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

  it('keeps the reason of a refusal when the answer is cancelled later', async () => {
    const refuse: Respond = (_, response) =>
      response.writeHead(422).end('{"code":"idempotency_conflict","detail":"Another query has this key."}');
    await start([refuse]);
    const answer = client.ask('x');
    expect(await failureOf(answer)).toMatchObject({ code: 'idempotency_conflict' });
    expect(await answer.cancel()).toBeUndefined();
    expect(await failureOf(answer)).toMatchObject({ code: 'idempotency_conflict' });
  });

  it('does not give up a silent run whose connections last, but are cut again and again', async () => {
    let now = 0;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => (now += 30_000));
    const silent = stream('retry: 1\n: keep-alive\n\n', { isCut: true });
    await start([silent, silent, silent, silent, stream(event(1, 'done', DONE))], { maxRetries: 1 });
    expect(await client.ask('x').text()).toBe('');
    clock.mockRestore();
  });

  it('passes on what onUpload throws, without another try', async () => {
    await start([(request, response) => void request.resume().on('end', () => response.end())]);
    const fault = new Error('The bar is gone.');
    const onUpload = () => {
      throw fault;
    };
    expect(await failureOf(client.ask('x', { files: [new Uint8Array(9)], onUpload }))).toBe(fault);
  });

  it.each(['', '.', '..'])('refuses the id %j, whose address would be another one', async (id) => {
    await start([(_, response) => response.end('{}')]);
    const fault = new TypeError(`${JSON.stringify(id)} is no id.`);
    await expect(client.run(id)).rejects.toEqual(fault);
    await expect(client.cancel(id)).rejects.toEqual(fault);
    await expect(client.session(id)).rejects.toEqual(fault);
    await expect(client.erase(id)).rejects.toEqual(fault);
    await expect(client.file('r', id)).rejects.toEqual(fault);
    expect(await failureOf(client.follow(id))).toEqual(fault);
    expect(requests).toEqual([]);
  });

  it('takes a session as erased only where the service says so', async () => {
    await start([(_, response) => response.end('<html>')]);
    await expect(client.erase('s')).rejects.toMatchObject({ code: 'invalid_response' });
  });

  it('joins the address and the path, wherever they have slashes', async () => {
    await start([(_, response) => response.end('{}')], { path: '/agents/query/' });
    await client.run('r');
    const { port } = server.address() as AddressInfo;
    await new AgentQueryClient({ baseUrl: `http://127.0.0.1:${port}//`, path: '' }).run('r');
    expect(requests).toEqual([
      ['GET', '/agents/query/r'],
      ['GET', '/r'],
    ]);
  });

  describe('when something is silent,', () => {
    const silent = { idleTimeoutMs: 50, maxRetries: 0 };
    const file = new Uint8Array(16 * 1024 * 1024);

    it('waits for a slow upload, also for one that is repeated, and no longer once it is sent', async () => {
      const later: Respond = (request, response) => {
        const goOn = () =>
          void request.resume().on('end', () => {
            response.writeHead(200, { 'Content-Type': 'text/event-stream' });
            response.end(event(1, 'done', DONE));
          });
        // Several times as long as a connection may be silent.
        setTimeout(goOn, 300);
      };
      const refuse: Respond = (request, response) =>
        void request.resume().on('end', () => response.writeHead(503, { 'Retry-After': '0' }).end());
      const ignore: Respond = (request) => void request.resume();
      await start([refuse, later, ignore], { ...silent, maxRetries: 1 });
      expect(await client.ask('x', { files: [file] }).text()).toBe('');
      expect(await failureOf(client.ask('x', { files: [file] }))).toMatchObject({ code: 'connection_lost' });
    });

    it('closes the connection of a stream that never begins', async () => {
      let closed!: Promise<unknown>;
      const respond: Respond = (_, response) => {
        closed = once(response, 'close');
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
      };
      await start([respond], silent);
      expect(await failureOf(client.ask('x'))).toMatchObject({ code: 'connection_lost' });
      await closed;
    });

    it('does not wait for the rest of JSON', async () => {
      await start([(_, response) => void response.writeHead(202).write('{"id":')], silent);
      await expect(client.run('r')).rejects.toMatchObject({ code: 'connection_lost' });
      await expect(client.ask('x', { detached: true }).runId).rejects.toMatchObject({
        code: 'connection_lost',
      });
    });

    it.each([0, Infinity, 2 ** 31])('waits for ever with idleTimeoutMs %d', async (idleTimeoutMs) => {
      await start([stream(event(1, 'done', DONE))], { idleTimeoutMs });
      expect(await client.ask('x').text()).toBe('');
    });

    it('leaves headers that never come when the signal aborts', async () => {
      await start([], { headers: () => new Promise(() => undefined) });
      const leaving = new AbortController();
      const { signal } = leaving;
      const failures = Promise.all([
        failureOf(client.ask('x', { signal })),
        client.run('r', { signal }).catch((error: unknown) => error),
      ]);
      leaving.abort('enough');
      expect(await failures).toEqual(['enough', 'enough']);
    });
  });

  describe('of a file that can be read only once,', () => {
    const source = () => ReadableStream.from([new Uint8Array(3)]);

    it('tries again while nothing of it was read', async () => {
      await start([]);
      const baseUrl = 'http://127.0.0.1:1';
      const failure = await failureOf(
        new AgentQueryClient({ baseUrl, maxRetries: 0 }).ask('x', { files: [source()] }),
      );
      expect(failure).toMatchObject({ code: 'connection_lost' });
    });

    it('tells at once why the query was not admitted', async () => {
      await start([
        (request, response) => void request.resume().on('end', () => response.writeHead(503).end()),
      ]);
      let tries = 0;
      const onResume = () => void (tries += 1);
      expect(await failureOf(client.ask('x', { files: [source()], onResume }))).toMatchObject({
        code: 'body_not_repeatable',
        cause: { code: 'unavailable', status: 503 },
      });
      expect(tries).toBe(0);
    });

    it('reads no more of it when the answer is cancelled or left', async () => {
      await start([(request) => void request.resume()]);
      const chunk = new Uint8Array(1024);
      for (const leave of ['cancel', 'abort']) {
        const leaving = new AbortController();
        const { signal } = leaving;
        const begun = deferred();
        const ended = deferred();
        async function* endless() {
          try {
            for (;;) {
              yield chunk;
              begun.resolve();
              await new Promise((resolve) => setImmediate(resolve));
            }
          } finally {
            ended.resolve();
          }
        }
        const answer = client.ask('x', { files: [endless()], signal });
        await begun.promise;
        if (leave === 'cancel') await answer.cancel();
        else leaving.abort(new Error('enough'));
        await failureOf(answer);
        await ended.promise;
      }
    });

    it('cancels a stream that is silent when the answer is cancelled', async () => {
      await start([(request) => void request.resume()]);
      const begun = deferred();
      const ended = deferred();
      const content = new ReadableStream(
        { pull: () => begun.resolve(), cancel: () => ended.resolve() },
        {
          highWaterMark: 0,
        },
      );
      const answer = client.ask('x', { files: [content] });
      await begun.promise;
      await answer.cancel();
      await ended.promise;
    });
  });
});
