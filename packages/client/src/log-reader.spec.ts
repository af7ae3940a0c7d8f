import { text } from 'node:stream/consumers';
import { jest } from '@jest/globals';
import type { AgentQueryClient, AgentQueryClientOptions, ResumeInfo } from './index.js';
import {
  DONE,
  event,
  failureOf,
  LiteralService,
  type Respond,
  stream,
} from '../../../test/support/literal-service.js';

describe('The client, reading a log of literal bytes,', () => {
  let service: LiteralService;
  let client: AgentQueryClient;

  const start = async (responds: Respond[], options: AgentQueryClientOptions = {}) => {
    service = await LiteralService.start(responds);
    client = service.client(options);
  };
  afterEach(() => service.stop());

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
    expect(service.requests).toEqual([
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
    expect(service.requests[1]).toEqual(['GET', '/query/r', 'r.1']);
  });

  it('takes a stream that is silent for too long as cut', async () => {
    await start(
      [stream('retry: 1\n' + event(1, 'message', { content: 'a' })), stream(event(2, 'done', DONE))],
      { idleTimeoutMs: 500 },
    );
    expect(await client.ask('x').text()).toBe('a');
    expect(service.requests).toHaveLength(2);
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

  const page =
    (status: number): Respond =>
    (_, response) =>
      response.writeHead(status, { 'Content-Type': 'text/html' }).end('<html><h1>Bad Gateway</h1></html>');

  it.each<[string, Respond]>([
    ['a connection that is closed without an answer', (request) => request.socket.destroy()],
    ['a page of a proxy with the status 502', page(502)],
    ['a page of a proxy with the status 503', page(503)],
    ['a page of a proxy with the status 504', page(504)],
  ])('repeats a query with its key after %s, on a connection that was used before', async (_, fail) => {
    const seen: { port: number | undefined; key: unknown; body: string }[] = [];
    const note =
      (respond: Respond): Respond =>
      async (request, response) => {
        const { headers, socket } = request;
        seen.push({ port: socket.remotePort, key: headers['idempotency-key'], body: await text(request) });
        respond(request, response);
      };
    const answer = stream('retry: 1\n' + event(1, 'message', { content: 'a' }) + event(2, 'done', DONE));
    const list = note((_, response) => response.end('{"runs":[]}'));
    await start([list, list, note(fail), note(answer)]);
    // A connection is free some ticks after its response: the third request uses that of the first again.
    await client.runs();
    await client.runs();
    expect(await client.ask('x', { files: [new Blob(['abc'])] }).text()).toBe('a');
    const [first, second, lost, repeated] = seen;
    expect([first!.port, second!.port]).toContain(lost!.port);
    expect(lost!.key).toMatch(/^\d+(?:-\d+){3}$/);
    expect(lost!.body).toContain('"base64":"YWJj"');
    expect(repeated).toMatchObject({ key: lost!.key, body: lost!.body });
    expect(service.requests).toEqual([
      ['GET', '/query'],
      ['GET', '/query'],
      ['POST', '/query'],
      ['POST', '/query'],
    ]);
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
    expect(service.requests).toHaveLength(1);
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

  it.each(['61', '3000000', '9'.repeat(400), new Date(Date.now() + 3_600_000).toUTCString()])(
    'does not wait where Retry-After is longer than a minute: %s',
    async (retryAfter) => {
      await start([(_, response) => response.writeHead(429, { 'Retry-After': retryAfter }).end()]);
      const { status, retryAfterMs } = await failureOf(client.ask('x'));
      expect(status).toBe(429);
      expect(retryAfterMs).toBeGreaterThan(60_000);
      expect(service.requests).toHaveLength(1);
    },
  );

  it.each([
    ['30', 30_000],
    [new Date(0).toUTCString(), 1_000],
    ['soon', 1_000],
  ])('waits as long as Retry-After asks, and otherwise a second at first: %s', async (retryAfter, most) => {
    await start([(_, response) => response.writeHead(503, { 'Retry-After': retryAfter }).end()]);
    const leaving = new AbortController();
    let delay = 0;
    const onResume = ({ delayMs }: ResumeInfo) => {
      delay = delayMs;
      leaving.abort('enough');
    };
    expect(await failureOf(client.ask('x', { signal: leaving.signal, onResume }))).toBe('enough');
    expect(delay).toBeGreaterThanOrEqual(most / 2);
    expect(delay).toBeLessThanOrEqual(most);
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
    expect(service.requests).toEqual([['POST', '/query']]);
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
});
