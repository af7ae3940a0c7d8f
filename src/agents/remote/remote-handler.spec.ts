import { Buffer } from 'node:buffer';
import { jest } from '@jest/globals';
import {
  endlessRefusal,
  fullEvents,
  noAnswer,
  problem,
  RemoteServer,
  stream,
  switchedProtocol,
} from '../../../test/support/remote-service.js';
import { eventually } from '../../../test/support/conditions.js';
import {
  type AgentHandler,
  type Envelope,
  HandedOver,
  log,
  message,
  type QueryContext,
} from '../../query/index.js';
import { type ContextInput, contextOf, queryOf, type TestContext } from '../../testing/index.js';
import { remoteHandler } from './index.js';

const DONE = { type: 'done', data: { status: 'completed' } };
const NOT_FOUND = problem(404, 'not_found');

describe('The agent remote', () => {
  let remote: RemoteServer;
  let handlers: AgentHandler[];

  beforeEach(async () => {
    remote = await RemoteServer.start();
    handlers = [];
  });

  afterEach(async () => {
    for (const handler of handlers)
      (handler as unknown as { onApplicationShutdown(): void }).onApplicationShutdown();
    await remote.stop();
  });

  function handler(options: { headers?: Record<string, string>; patienceMs?: number } = {}): AgentHandler {
    const made = remoteHandler({ url: remote.url, ...options });
    handlers.push(made);
    return made;
  }

  async function iteratorOf(agent: AgentHandler, context: QueryContext): Promise<AsyncIterator<Envelope>> {
    const answer = (await agent.handle(await queryOf('Hello'), context)) as AsyncIterable<Envelope>;
    return answer[Symbol.asyncIterator]();
  }

  async function ask(
    agent = handler(),
    input: ContextInput & { context?: TestContext } = {},
  ): Promise<Envelope[]> {
    const context = input.context ?? (await contextOf(input));
    const iterator = await iteratorOf(agent, context);
    const envelopes: Envelope[] = [];
    for (let step = await iterator.next(); !step.done; step = await iterator.next())
      envelopes.push(step.value);
    return envelopes;
  }

  const AB = [message('a'), log('b')];

  describe('with a service that keeps no runs', () => {
    const events = AB.map((envelope) => `data: ${JSON.stringify(envelope)}\n\n`).join('');

    it.each<[string, string]>([
      ['that ends without done', events],
      ['that ends with done', `${events}data: ${JSON.stringify(DONE)}\n\n`],
      ['with CRLF', events.replaceAll('\n', '\r\n')],
      ['with a byte order mark', `\ufeff${events}`],
      ['with comments, blank lines and fields of other names', `:\n\n\n\nretry: 5\nevent: x\n${events}:\n\n`],
      ['whose last event has no blank line after it', events.trimEnd()],
    ])('passes on a stream %s', async (_, body) => {
      remote.answers(stream(body));
      expect(await ask()).toEqual(AB);
      expect(remote.requests).toEqual(['POST /query']);
    });

    it('passes on a stream that arrives byte by byte, with types that nobody knows', async () => {
      const envelopes = [{ type: 'chart', data: { ä: ['€', '😀', null] } }, message('\u2028')];
      const bytes = Buffer.from(envelopes.map((each) => `data: ${JSON.stringify(each)}\r\n\r\n`).join(''));
      remote.answers(async (response) => {
        response.writeHead(200, { 'Content-Type': 'Text/Event-Stream' });
        for (const byte of bytes) await new Promise((sent) => response.write(Buffer.of(byte), sent));
        response.end();
      });
      expect(await ask()).toEqual(envelopes);
    });

    it('fails a run whose stream is cut', async () => {
      remote.answers(stream(events, 'cut'));
      const context = await contextOf();
      await expect(ask(handler(), { context })).rejects.toMatchObject({ code: 'interrupted' });
      expect(remote.requests).toEqual(['POST /query']);
      expect(context.checkpoints).toEqual([]);
    });

    it.each([
      ['the connection was closed', noAnswer],
      ['the service switched the protocol', switchedProtocol],
    ])('does not send a query again that may have been executed: %s', async (_, answer) => {
      remote.answers(answer, problem(404, 'other'));
      await expect(ask()).rejects.toMatchObject({ code: 'interrupted' });
      expect(remote.calls.filter(({ method }) => method === 'POST')).toHaveLength(1);
    });

    it('does not execute a run again whose process was lost', async () => {
      remote.answers((response) => void response.writeHead(404).end());
      const resumed = { attempt: 2, state: undefined };
      await expect(ask(handler(), { resumed })).rejects.toMatchObject({ code: 'interrupted' });
      expect(remote.calls.map(({ method }) => method)).toEqual(['GET']);
    });

    it('closes the connection of a run that must stop', async () => {
      let isClosed = false;
      remote.answers((response, call) => {
        response.once('close', () => (isClosed = true));
        void stream(events, 'open')(response, call);
      });
      const context = await contextOf();
      const iterator = await iteratorOf(handler(), context);
      await iterator.next();
      await iterator.next();
      const waiting = iterator.next();
      context.abort();
      await expect(waiting).rejects.toThrow();
      await eventually(() => isClosed);
      expect(remote.requests).toEqual(['POST /query']);
    });
  });

  describe('with a service that keeps runs', () => {
    const all = [message('a'), log('b'), { type: 'x', data: 1 }, DONE];

    it.each(['end', 'cut'] as const)('resumes a stream after each envelope (%s)', async (end) => {
      remote.answers(
        stream(`retry: 5\n${fullEvents('r-1', 1, all[0])}`, end, 'r-1'),
        stream(`${fullEvents('r-1', 2, all[1])}id: r-1.3\ndata: {"type"`, end),
        noAnswer,
        problem(503, 'draining', '', { 'Retry-After': '0' }),
        stream(fullEvents('r-1', 3, all[2], DONE)),
      );
      const context = await contextOf({ runId: 'mine' });
      expect(await ask(handler(), { context })).toEqual(all.slice(0, 3));
      const [first, ...others] = remote.calls;
      expect(first).toMatchObject({ method: 'POST', headers: { 'idempotency-key': '"mine"' } });
      expect(
        others.map(({ method, path, headers }) => `${method} ${path} ${String(headers['last-event-id'])}`),
      ).toEqual([
        'GET /query/r-1 r-1.1',
        'GET /query/r-1 r-1.2',
        'GET /query/r-1 r-1.2',
        'GET /query/r-1 r-1.2',
      ]);
      expect(context.checkpoints[0]).toMatchObject({ run: 'r-1', seq: 0 });
    });

    it('drops envelopes that it has passed on', async () => {
      remote.answers(stream(fullEvents('r', 1, all[0]), 'cut', 'r'), stream(fullEvents('r', 1, ...all)));
      expect(await ask()).toEqual(all.slice(0, 3));
    });

    it('fails a run whose envelopes have a gap', async () => {
      remote.answers(stream(fullEvents('r', 1, all[0]) + fullEvents('r', 3, all[2]), 'open', 'r'));
      await expect(ask()).rejects.toMatchObject({ code: 'handler_failed' });
    });

    it.each([204, 404, 410])('fails a run whose rest is gone (%d)', async (status) => {
      remote.answers(
        stream(fullEvents('r', 1, all[0]), 'cut', 'r'),
        (response) => void response.writeHead(status).end(),
      );
      await expect(ask()).rejects.toMatchObject({ code: 'interrupted' });
    });

    it('waits a minute at most, however long the service asks it to wait', async () => {
      const timers = jest.spyOn(globalThis, 'setTimeout');
      const delays = () => timers.mock.calls.map(([, ms]) => ms ?? 0);
      remote.answers(
        stream(fullEvents('r', 1, all[0]), 'cut', 'r'),
        problem(503, 'draining', '', { 'Retry-After': '3000000' }),
      );
      const context = await contextOf();
      const answer = ask(handler(), { context });
      await eventually(() => delays().includes(60_000));
      context.abort(new HandedOver());
      await expect(answer).rejects.toThrow();
      expect(Math.max(...delays())).toBe(60_000);
      expect(remote.requests).toEqual(['POST /query', 'GET /query/r']);
      timers.mockRestore();
    });

    it('sends a query again whose answer got lost before it began', async () => {
      remote.answers(noAnswer, NOT_FOUND, stream(fullEvents('r', 1, ...all), 'end', 'r'));
      expect(await ask()).toEqual(all.slice(0, 3));
      const posts = remote.calls.filter(({ method }) => method === 'POST');
      expect(
        new Set(posts.map(({ headers, body }) => `${String(headers['idempotency-key'])} ${body}`)).size,
      ).toBe(1);
      expect(posts).toHaveLength(2);
    });

    it('sends the query again with the same key where an earlier attempt has stored nothing', async () => {
      remote.answers(NOT_FOUND, stream(fullEvents('r', 1, ...all), 'end', 'r'));
      const resumed = { attempt: 2, state: undefined };
      expect(await ask(handler(), { resumed, runId: 'mine' })).toEqual(all.slice(0, 3));
      expect(remote.calls[1]).toMatchObject({ method: 'POST', headers: { 'idempotency-key': '"mine"' } });
    });

    it('continues the remote run of an earlier attempt', async () => {
      const state = { run: 'r', seq: 2, passedOn: { forgotten: 0, recent: [], expected: [] } };
      remote.answers(stream(fullEvents('r', 3, all[2], DONE)));
      expect(await ask(handler(), { resumed: { attempt: 2, state } })).toEqual([all[2]]);
      expect(remote.requests).toEqual(['GET /query/r']);
      expect(remote.calls[0]!.headers['last-event-id']).toBe('r.2');
    });

    it('passes on nothing twice when the remote run was restarted and answers the same', async () => {
      const restarted = { type: 'restarted', data: { attempt: 2, from: 1 } };
      const answer = [all[0], all[1], all[2], restarted, all[1], all[2], message('new'), DONE];
      remote.answers(stream(fullEvents('r', 1, ...answer), 'end', 'r'));
      expect(await ask()).toEqual([...all.slice(0, 3), message('new')]);
    });

    it.each([
      ['differs', [message('other'), DONE]],
      ['ends before', [DONE]],
    ])('fails a run that was restarted and whose new answer %s', async (_, again) => {
      const restarted = { type: 'restarted', data: { attempt: 2, from: 0 } };
      remote.answers(stream(fullEvents('r', 1, all[0], all[1], restarted, all[0], ...again), 'end', 'r'));
      await expect(ask()).rejects.toMatchObject({ code: 'interrupted' });
    });

    it.each([
      [
        { status: 'failed', error: { code: 'limit_exceeded', message: 'Too\nlong.' } },
        'limit_exceeded',
        'Too long.',
      ],
      [
        { status: 'failed', error: { code: 'of_theirs', message: 'x'.repeat(600) } },
        'handler_failed',
        `${'x'.repeat(500)}…`,
      ],
      [{ status: 'cancelled' }, 'handler_failed', 'The run was cancelled in the remote service.'],
      [{ status: 'odd' }, 'invalid_envelope', 'The remote agent ended in a way that has no meaning.'],
    ])('fails with what the remote run failed with: %j', async (data, code, sentence) => {
      remote.answers(stream(fullEvents('r', 1, { type: 'done', data }), 'end', 'r'));
      await expect(ask()).rejects.toMatchObject({ code, message: sentence });
    });

    it('cancels the remote run, and has stopped when that has', async () => {
      remote.answers(
        stream(fullEvents('r', 1, all[0]), 'open', 'r'),
        (response) => void response.writeHead(202).end(),
        (response) => void response.writeHead(200).end(),
      );
      const context = await contextOf();
      const iterator = await iteratorOf(handler(), context);
      await iterator.next();
      context.abort();
      await iterator.return!();
      expect(remote.requests).toEqual(['POST /query', 'DELETE /query/r', 'DELETE /query/r']);
    });

    it('cancels a remote run that must stop before it has a name', async () => {
      const context = await contextOf();
      remote.answers(
        (response, call) => {
          context.abort();
          setImmediate(() => void stream('', 'open', 'r')(response, call));
        },
        (response) => void response.writeHead(200).end(),
      );
      await expect(ask(handler(), { context })).rejects.toThrow();
      expect(remote.requests).toEqual(['POST /query', 'DELETE /query/r']);
    });

    it('leaves the remote run to the next attempt when its run is handed over', async () => {
      remote.answers(stream(fullEvents('r', 1, all[0]), 'open', 'r'));
      const context = await contextOf();
      const iterator = await iteratorOf(handler(), context);
      await iterator.next();
      context.abort(new HandedOver());
      await iterator.return!();
      expect(remote.requests).toEqual(['POST /query']);
    });
  });

  it('waits for a service that does not listen yet', async () => {
    const { port } = remote;
    const agent = handler();
    await remote.stop();
    const answer = ask(agent);
    remote = await RemoteServer.start(port);
    remote.answers(stream('data: {"type":"x","data":1}\n\n'));
    expect(await answer).toEqual([{ type: 'x', data: 1 }]);
  });

  it('waits for room, as long as the service says', async () => {
    remote.answers(
      problem(429, 'rate_limited', '', { 'Retry-After': '0' }),
      problem(503, 'at_capacity'),
      stream(''),
    );
    expect(await ask()).toEqual([]);
    expect(remote.requests).toHaveLength(3);
  });

  it.each([
    [429, 'rate_limited', 'rate_limited'],
    [503, 'at_capacity', 'unavailable'],
  ])('does not wait longer than it may (%d)', async (status, code, expected) => {
    remote.answers(problem(status, code, '', { 'Retry-After': '61' }));
    await expect(ask()).rejects.toMatchObject({ code: expected });
    expect(remote.requests).toHaveLength(1);
  });

  it('fails where nobody listens', async () => {
    const agent = handler({ patienceMs: 0 });
    await remote.stop();
    const failure = ask(agent);
    await expect(failure).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.not.stringContaining('127'),
    });
    remote = await RemoteServer.start();
  });

  it.each([
    [400, 'invalid_query', 'invalid_query', 'Why.'],
    [413, 'limit_exceeded', 'limit_exceeded', 'Why.'],
    [409, 'session_busy', 'session_busy', 'Why.'],
    [401, 'unauthorized', 'handler_failed', 'refuses the credential'],
    [403, 'forbidden', 'handler_failed', 'refuses the credential'],
    [422, 'idempotency_conflict', 'handler_failed', 'status 422'],
    [500, 'internal', 'handler_failed', 'status 500'],
    [302, 'x', 'handler_failed', 'status 302'],
    [200, 'x', 'handler_failed', 'status 200'],
    [502, 'x', 'unavailable', 'no room'],
  ])(
    'fails with a refusal of %d %s, and logs it without the secret',
    async (status, code, expected, sentence) => {
      remote.answers((response, call) =>
        problem(status, code, 'Why.', { Location: '/elsewhere', 'X-Echo': String(call.headers['x-key']) })(
          response,
          call,
        ),
      );
      const failure = await ask(handler({ headers: { 'X-Key': 'Why' } })).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: expected, message: expect.stringContaining(sentence) });
      const { cause } = failure as { cause: Error };
      expect(cause.message).toContain(`answered ${status}`);
      expect(cause.message).toContain('***');
      expect(remote.requests).toEqual(['POST /query']);
    },
  );

  it('reads the beginning of a refusal that never ends, and logs it without credentials, also short ones', async () => {
    remote.answers(endlessRefusal(401, 'Wrong: k1, key2. '));
    const failure = ask(handler({ headers: { Authorization: 'Bearer k1', 'X-Key': 'key2' } }));
    const { cause } = (await failure.catch((error: unknown) => error)) as { cause: Error };
    expect(cause.message).toMatch(/answered 401: Wrong: \*\*\*, \*\*\*\. x+$/);
    expect(cause.message.length).toBeLessThan(2_100);
  });

  it.each(['data: no JSON\n\n', 'data: 5\n\n', 'data: {"data":1}\n\n'])('fails with %j', async (body) => {
    remote.answers(stream(body));
    await expect(ask()).rejects.toMatchObject({ code: 'invalid_envelope' });
  });

  it('passes on the trace of the run, and headers of the operator', async () => {
    remote.answers(stream(''));
    const trace = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01 a=b,c=d`;
    const context = Object.assign(await contextOf(), { trace });
    await ask(handler({ headers: { 'X-Key': 'k' } }), { context });
    expect(remote.calls[0]!.headers).toMatchObject({
      accept: 'text/event-stream',
      'content-type': 'application/json',
      traceparent: trace.split(' ')[0],
      tracestate: 'a=b,c=d',
      'x-key': 'k',
    });
  });

  it('reads nothing from the connection while nobody asks for more', async () => {
    const big = `data: ${JSON.stringify(message('x'.repeat(60_000)))}\n\n`;
    let written = 0;
    remote.answers(async (response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      while (written < 1_000 && !response.destroyed) {
        written += 1;
        if (!response.write(big))
          await new Promise((drained) => response.once('drain', drained).once('close', drained));
      }
      response.end();
    });
    const iterator = await iteratorOf(handler(), await contextOf());
    await iterator.next();
    let before = -1;
    while (before !== written) {
      before = written;
      for (let turn = 0; turn < 200; turn += 1) await new Promise((next) => setImmediate(next));
    }
    expect(written).toBeLessThan(1_000);
    let count = 1;
    while (!(await iterator.next()).done) count += 1;
    expect(count).toBe(1_000);
  });

  it.each([
    { url: 'ftp://host' },
    { url: 'http://user:secret@host' },
    { url: 'http://host?x' },
    { url: 'http://host', headers: { 'a b': 'secret' } },
    { url: 'http://host', headers: { a: 'secret\n' } },
    { url: 'http://host', headers: { 'Content-Length': 'secret' } },
    { url: 'http://host', patienceMs: -1 },
  ])('refuses the options %j', (options) => {
    expect(() => remoteHandler(options)).toThrow(TypeError);
    expect(() => remoteHandler(options)).not.toThrow('secret');
  });
});
