import type { AgentQueryClient, AgentQueryClientOptions, InputRequest } from './index.js';
import { Retries } from './retries.js';
import { DONE, event, LiteralService, type Respond, stream } from '../../../test/support/literal-service.js';

/** A response that the service ends while the run asks. */
const held =
  (bytes: string, retryMs = 1): Respond =>
  (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Content-Location': '/query/r' });
    response.end(`retry: 1\n${bytes}:\nretry: ${retryMs}\n`);
  };

const requestOf = (id: string): InputRequest => ({
  id,
  kind: 'approval',
  message: 'May it?',
  expiresAt: '2026-11-25T10:00:00.000Z',
  onExpire: 'decline',
});
const A = requestOf('a');
const B = requestOf('b');
const resolved = (...ids: string[]) => ({
  answers: ids.map((id) => ({ id, outcome: 'declined', by: 'me', at: '2026-11-24T10:00:00.000Z' })),
});
const RUN = { id: 'r', status: 'waiting' };

describe('The client, reading a run that asks,', () => {
  let service: LiteralService;
  let client: AgentQueryClient;

  const start = async (responds: Respond[], options: AgentQueryClientOptions = {}) => {
    service = await LiteralService.start(responds);
    client = service.client(options);
  };
  afterEach(() => service.stop());

  it('asks again as long as the run asks, without a failed try, and tells nobody', async () => {
    const asks = event(1, 'message', { content: 'a' }) + event(2, 'input_required', { requests: [A] });
    const rest =
      event(3, 'input_resolved', resolved('a')) +
      event(4, 'message', { content: 'b' }) +
      event(5, 'done', DONE);
    const silent = Array.from({ length: 12 }, () => held(''));
    await start([held(asks), ...silent, stream(rest)], { maxRetries: 0 });
    let resumed = 0;
    expect(await client.ask('x', { onResume: () => (resumed += 1) }).text()).toBe('ab');
    expect(resumed).toBe(0);
    expect(service.requests).toHaveLength(14);
    expect(service.requests.slice(1)).toEqual(Array(13).fill(['GET', '/query/r', 'r.2']));
  });

  it('knows which requests are open', async () => {
    await start([
      stream(
        event(1, 'input_required', { requests: [A, B] }) +
          event(2, 'input_resolved', resolved('b')) +
          event(3, 'input_resolved', resolved('a')) +
          event(4, 'input_required', { requests: [B] }) +
          event(5, 'restarted', { attempt: 2, from: 3 }) +
          event(6, 'input_required', { requests: [A] }) +
          event(7, 'done', { status: 'cancelled' }),
      ),
    ]);
    const answer = client.ask('x');
    expect(answer.requests).toEqual([]);
    const open: string[] = [];
    for await (const { type } of answer) open.push([type, ...answer.requests.map(({ id }) => id)].join(' '));
    expect(open).toEqual([
      'input_required a b',
      'input_resolved a',
      'input_resolved',
      'input_required b',
      'restarted',
      'input_required a',
      'done',
    ]);
  });

  it('goes on at once when it has answered, however long the service asks to wait', async () => {
    await start([
      held(event(1, 'input_required', { requests: [A] }), 600_000),
      (request, response) => {
        const { 'content-type': type, accept } = request.headers;
        response.end(JSON.stringify({ type, accept }));
      },
      stream(event(2, 'input_resolved', resolved('a')) + event(3, 'done', DONE)),
    ]);
    const answer = client.ask('x');
    const types: string[] = [];
    for await (const { type } of answer) {
      types.push(type);
      if (type !== 'input_required') continue;
      const run = await answer.respond([{ id: 'a', outcome: 'declined' }]);
      expect(run).toEqual({ type: 'application/json', accept: 'application/json' });
    }
    expect(types).toEqual(['input_required', 'input_resolved', 'done']);
    expect(service.requests).toEqual([
      ['POST', '/query'],
      ['POST', '/query/r/inputs'],
      ['GET', '/query/r', 'r.1'],
    ]);
  });

  it('looks at once what has become of the run when somebody else was first', async () => {
    await start([
      held(event(1, 'input_required', { requests: [A] }), 600_000),
      (_, response) =>
        response
          .writeHead(409)
          .end(JSON.stringify({ code: 'input_resolved', detail: 'Too late.', ...resolved('a') })),
      stream(event(2, 'input_resolved', resolved('a')) + event(3, 'done', DONE)),
    ]);
    const answer = client.ask('x');
    const text = answer.text();
    const error = await answer.respond([{ id: 'a', outcome: 'declined' }]).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'input_resolved', status: 409, problem: resolved('a') });
    expect(await text).toBe('');
  });

  it('sends the same answers again when the response is lost', async () => {
    const bodies: string[] = [];
    const note = async (request: AsyncIterable<Buffer>) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      bodies.push(Buffer.concat(chunks).toString());
    };
    await start([
      (request, response) => void note(request).then(() => response.destroy()),
      (request, response) => void note(request).then(() => response.end(JSON.stringify(RUN))),
    ]);
    const answers = [{ id: 'a', outcome: 'answered', value: { approved: true } } as const];
    expect(await client.answer('r/1', answers)).toEqual(RUN);
    const body = '{"answers":[{"id":"a","outcome":"answered","value":{"approved":true}}]}';
    expect(bodies).toEqual([body, body]);
    expect(service.requests).toEqual([
      ['POST', '/query/r%2F1/inputs'],
      ['POST', '/query/r%2F1/inputs'],
    ]);
  });
});

describe('A pause of the client', () => {
  const paused = (signal?: AbortSignal) => {
    const retries = new Retries(8);
    retries.retryMs = 600_000;
    return { retries, pausing: retries.pause(signal) };
  };

  it('ends when the run goes on', async () => {
    const { retries, pausing } = paused();
    retries.hurry();
    await pausing;
  });

  it('ends with the reason of its signal', async () => {
    const leaving = new AbortController();
    const { pausing } = paused(leaving.signal);
    leaving.abort('enough');
    await expect(pausing).rejects.toBe('enough');
  });
});
