import {
  fullEvents,
  noAnswer,
  problem,
  type RemoteCall,
  RemoteServer,
  stream,
} from '../../../test/support/remote-service.js';
import { deferred } from '../../../test/support/conditions.js';
import {
  type AgentHandler,
  type Envelope,
  HandedOver,
  log,
  message,
  type QueryContext,
  type ResolvedInput,
} from '../../query/index.js';
import { contextOf, queryOf, type TestContext } from '../../testing/index.js';
import { remoteHandler } from './index.js';

const DONE = { type: 'done', data: { status: 'completed' } };
const AT = '2000-01-01T00:00:00.000Z';

function request(id: string, more: object = {}) {
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  return { id, kind: 'input', message: `${id}?`, expiresAt, onExpire: 'decline', ...more };
}

function asks(...requests: object[]) {
  return { type: 'input_required', data: { requests } };
}

function resolved(id: string, value: unknown, by = 'somebody') {
  return { type: 'input_resolved', data: { answers: [{ id, outcome: 'answered', value, by, at: AT }] } };
}

const before = message('Let me see. ');
const after = message('Done.');
const LATE = log('The remote agent had its answer already, and goes on with that one.');

describe('The agent remote, when the remote run asks', () => {
  let remote: RemoteServer;
  let handler: AgentHandler;

  beforeEach(async () => {
    remote = await RemoteServer.start();
    handler = remoteHandler({ url: remote.url });
  });

  afterEach(async () => {
    (handler as unknown as { onApplicationShutdown(): void }).onApplicationShutdown();
    await remote.stop();
  });

  async function answerOf(context: QueryContext): Promise<Envelope[]> {
    const envelopes: Envelope[] = [];
    const answer = handler.handle(await queryOf('Hello'), context) as AsyncIterable<Envelope>;
    for await (const envelope of answer) envelopes.push(envelope);
    return envelopes;
  }

  const answering = (answers: object) => contextOf({ answers: answers as Record<string, unknown> });
  const answersIn = ({ body }: RemoteCall) => (JSON.parse(body) as { answers: unknown }).answers;

  /** A context in which every request has expired. */
  async function expiring(): Promise<TestContext> {
    const expired = (id: string): ResolvedInput => ({ id, outcome: 'expired', by: null, at: AT });
    return Object.assign(await contextOf(), {
      ask: (async (questions) => questions.map(({ key }) => expired(key))) satisfies QueryContext['ask'],
    });
  }

  it('asks under the same ids, answers the remote run, and passes on what it does then', async () => {
    const refund = { toolCallId: 'c', name: 'refund', arguments: { amount: 1 }, editable: true };
    const approval = request('a', {
      ...refund,
      kind: 'approval',
      onExpire: 'fail',
      hold: true,
      private: true,
    });
    const choice = request('b', { schema: { enum: ['Q1'] }, onExpire: { value: 'Q1' } });
    remote.answers(
      stream(fullEvents('r', 1, before, asks(approval, choice)), 'open', 'r'),
      stream(fullEvents('r', 3, resolved('a', 1), after, DONE)),
    );
    const context = await answering({ a: { approved: true } });
    expect(await answerOf(context)).toEqual([before, after]);
    const { id: _a, expiresAt: _ea, ...first } = approval;
    const { id: _b, expiresAt: _eb, ...second } = choice;
    const expiresInMs = expect.any(Number) as number;
    expect(context.questions).toEqual([
      { ...first, key: 'a', expiresInMs },
      { ...second, key: 'b', expiresInMs },
    ]);
    expect(context.questions[0]!.expiresInMs).toBeGreaterThan(30_000);
    expect(context.questions[0]!.expiresInMs).toBeLessThanOrEqual(60_000);
    expect(remote.requests).toEqual(['POST /query', 'POST /query/r/inputs']);
    expect(remote.calls[1]!.headers).toMatchObject({
      accept: 'text/event-stream',
      'content-type': 'application/json',
      'last-event-id': 'r.2',
    });
    expect(answersIn(remote.calls[1]!)).toEqual([
      { id: 'a', outcome: 'answered', value: { approved: true } },
      { id: 'b', outcome: 'declined' },
    ]);
  });

  it('asks for a moment, or for 30 days, where the remote request expires before or after', async () => {
    const late = new Date(Date.now() + 1e10).toISOString();
    remote.answers(
      stream(
        fullEvents('r', 1, asks(request('a', { expiresAt: AT }), request('b', { expiresAt: late }))),
        'open',
        'r',
      ),
      stream(fullEvents('r', 2, DONE)),
    );
    const context = await contextOf();
    await answerOf(context);
    expect(context.questions.map(({ expiresInMs }) => expiresInMs)).toEqual([1, 2_592_000_000]);
  });

  it('follows the remote run from its question in the next attempt, which knows the answer', async () => {
    remote.answers(stream(fullEvents('r', 1, before, asks(request('a'))), 'open', 'r'));
    const first = await contextOf();
    const isAsked = deferred();
    const isParked = deferred();
    const ask: QueryContext['ask'] = async (_, { checkpoint } = {}) => {
      await first.checkpoint(checkpoint);
      isAsked.resolve();
      await isParked.promise;
      throw new HandedOver();
    };
    const attempt = answerOf(Object.assign(first, { ask }));
    await isAsked.promise;
    first.abort(new HandedOver());
    isParked.resolve();
    await expect(attempt).rejects.toThrow(HandedOver);
    expect(remote.requests).toEqual(['POST /query']);
    const state = first.checkpoints.at(-1);
    expect(state).toMatchObject({ run: 'r', seq: 1 });
    remote.answers(
      stream(fullEvents('r', 2, asks(request('a'))), 'open'),
      stream(fullEvents('r', 3, resolved('a', 'x'), after, DONE)),
    );
    const second = await contextOf({ answers: { a: 'x' }, resumed: { attempt: 2, state } });
    expect(await answerOf(second)).toEqual([after]);
    expect(remote.requests.slice(1)).toEqual(['GET /query/r', 'POST /query/r/inputs']);
    expect(remote.calls[1]!.headers['last-event-id']).toBe('r.1');
  });

  it('sends an answer again that may have got lost', async () => {
    remote.answers(
      stream(fullEvents('r', 1, asks(request('a'))), 'open', 'r'),
      noAnswer,
      problem(503, 'draining', '', { 'Retry-After': '0' }),
      stream(fullEvents('r', 2, resolved('a', 'x')), 'cut'),
      stream(fullEvents('r', 3, after, DONE)),
    );
    expect(await answerOf(await answering({ a: 'x' }))).toEqual([after]);
    const posts = ['POST /query/r/inputs', 'POST /query/r/inputs', 'POST /query/r/inputs'];
    expect(remote.requests).toEqual(['POST /query', ...posts, 'GET /query/r']);
  });

  it.each(['input_resolved', 'input_expired', 'run_ended'])(
    'goes on with what won there (409 %s)',
    async (code) => {
      remote.answers(
        stream(fullEvents('r', 1, asks(request('a'))), 'open', 'r'),
        problem(409, code),
        stream(fullEvents('r', 2, resolved('a', 'theirs'), after, DONE)),
      );
      expect(await answerOf(await answering({ a: 'ours' }))).toEqual([LATE, after]);
      expect(remote.requests).toEqual(['POST /query', 'POST /query/r/inputs', 'GET /query/r']);
      expect(remote.calls[2]!.headers['last-event-id']).toBe('r.1');
    },
  );

  it('answers the other requests where one of them was answered there', async () => {
    remote.answers(
      stream(fullEvents('r', 1, asks(request('a'), request('b'), request('c'))), 'open', 'r'),
      problem(409, 'input_resolved'),
      stream(fullEvents('r', 2, resolved('a', 1)), 'open'),
      problem(409, 'input_resolved'),
      stream(fullEvents('r', 2, resolved('a', 1), resolved('c', 3), after, DONE)),
    );
    expect(await answerOf(await answering({ a: 1, b: 2, c: 3 }))).toEqual([after]);
    const ids = remote.calls
      .slice(1)
      .map((call) => (answersIn(call) as { id: string }[]).map(({ id }) => id));
    expect(ids).toEqual([['a', 'b', 'c'], ['a'], ['b'], ['c']]);
  });

  it('waits for the remote service where a request has expired here', async () => {
    remote.answers(
      stream(fullEvents('r', 1, asks(request('a'))), 'open', 'r'),
      stream(':\n\nretry: 15000\n\n'),
      stream(''),
      stream(fullEvents('r', 2, resolved('a', 'default'), after, DONE)),
    );
    expect(await answerOf(await expiring())).toEqual([after]);
    expect(remote.requests).toEqual(['POST /query', 'GET /query/r', 'GET /query/r', 'GET /query/r']);
  });

  it.each([
    [
      400,
      'handler_failed',
      'The remote agent refused an answer with the status 400. The service has logged the cause.',
    ],
    [404, 'interrupted', 'The remote agent no longer has the rest of its answer. Send the query again.'],
  ])('fails where the remote service refuses an answer (%d)', async (status, code, sentence) => {
    remote.answers(stream(fullEvents('r', 1, asks(request('a'))), 'open', 'r'), problem(status, 'some_code'));
    await expect(answerOf(await answering({ a: 1 }))).rejects.toMatchObject({ code, message: sentence });
  });

  it('compares no questions when the remote run is restarted', async () => {
    const restarted = { type: 'restarted', data: { attempt: 2, from: 1 } };
    const rest = [resolved('a', 'x'), message('b'), restarted, message('b'), after, DONE];
    remote.answers(
      stream(fullEvents('r', 1, before, asks(request('a'))), 'open', 'r'),
      stream(fullEvents('r', 3, ...rest)),
    );
    expect(await answerOf(await answering({ a: 'x' }))).toEqual([before, message('b'), after]);
  });

  it.each([
    ['the run is cancelled', new Error('The run is cancelled.'), ['POST /query', 'DELETE /query/r']],
    ['the run is handed over', new HandedOver(), ['POST /query']],
  ])('leaves nothing behind when %s', async (_, reason, requests) => {
    remote.answers(
      stream(fullEvents('r', 1, asks(request('a'))), 'open', 'r'),
      (response) => void response.writeHead(200).end(),
    );
    const context = await contextOf();
    const ask: QueryContext['ask'] = () => {
      context.abort(reason);
      return Promise.reject(reason);
    };
    await expect(answerOf(Object.assign(context, { ask }))).rejects.toBe(reason);
    expect(remote.requests).toEqual(requests);
  });

  it('fails where the remote service keeps no runs, which could be answered', async () => {
    remote.answers(stream(`data: ${JSON.stringify(asks(request('a')))}\n\n`));
    await expect(answerOf(await contextOf())).rejects.toMatchObject({
      code: 'handler_failed',
      message: 'The remote agent asks something, but has no way to be answered.',
    });
  });

  it.each([null, {}, { requests: [1] }])('fails with the data %j', async (data) => {
    remote.answers(stream(fullEvents('r', 1, { type: 'input_required', data }), 'open', 'r'));
    await expect(answerOf(await contextOf())).rejects.toMatchObject({
      code: 'invalid_envelope',
      message: 'The remote agent asked something that is not valid. It named no requests.',
    });
  });

  it('fails with a question that is not valid', async () => {
    remote.answers(stream(fullEvents('r', 1, asks(request('a'))), 'open', 'r'));
    const ask = () => Promise.reject(new TypeError('Its kind is odd.'));
    await expect(answerOf(Object.assign(await contextOf(), { ask }))).rejects.toMatchObject({
      code: 'invalid_envelope',
      message: 'The remote agent asked something that is not valid. Its kind is odd.',
    });
  });
});
