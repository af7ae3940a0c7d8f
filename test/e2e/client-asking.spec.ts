import { AgentQueryClient, type InputAnswer } from '../../packages/client/src/index.js';
import {
  isApproved,
  message,
  type Query,
  type QueryContext,
  type QueryModuleOptions,
} from '../../src/index.js';
import { promise } from '../promises.js';
import { eventually } from '../support/conditions.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';

const APPROVED: InputAnswer = { id: 'refund', outcome: 'answered', value: { approved: true } };
const QUARTER: InputAnswer = { id: 'quarter', outcome: 'answered', value: 'Q1' };

/** Asks two things at once, and says what it got. */
async function* refunds(_: Query, context: QueryContext) {
  yield message('Let me see. ');
  const [refund, quarter] = await context.ask([
    { key: 'refund', kind: 'approval', message: 'Refund?', name: 'refund', arguments: { amount: 120 } },
    { key: 'quarter', kind: 'input', message: 'Which?', schema: { enum: ['Q1', 'Q2'] } },
  ]);
  yield message(`${isApproved(refund)} ${quarter!.outcome} ${quarter!.value as string}`);
}

const codeOf = (refused: Promise<unknown>) =>
  refused.then(
    () => 'accepted',
    (error: { code: string }) => error.code,
  );

describeOnOneAdapter('The typed client, of runs that ask on %s,', (adapter) => {
  let host: Host;
  let client: AgentQueryClient;

  const start = async (options: Partial<QueryModuleOptions> = {}) => {
    host = await startAgent(adapter, refunds, { streams: { retryMs: 1 }, ...options });
    client = new AgentQueryClient({ baseUrl: host.url });
  };
  /** Starts a run, and waits until it asks. */
  const startAsking = async (sessionId?: string) => {
    const answer = client.ask('Hello', { detached: true, sessionId });
    for await (const { type } of answer) if (type === 'input_required') break;
    return answer.runId;
  };
  afterEach(() => host.close());

  it(promise('client.asks'), async () => {
    await start();
    const answer = client.ask('Hello');
    const text = answer.text();
    const open: string[][] = [];
    for await (const { type } of answer) {
      if (type !== 'message') open.push(answer.requests.map(({ id }) => id));
      if (type === 'input_required') await answer.respond([APPROVED]);
      // Both readers read on: only the newest envelope says what is open.
      if (type === 'input_resolved' && answer.requests.length > 0) await answer.respond([QUARTER]);
    }
    expect(open).toEqual([['refund', 'quarter'], ['quarter'], [], []]);
    expect(await text).toBe('Let me see. true answered Q1');
    const { envelopes } = await answer.result();
    expect(envelopes.map(({ type }) => type)).toEqual([
      'message',
      'input_required',
      'input_resolved',
      'input_resolved',
      'message',
    ]);
  });

  it(promise('client.asks', 'also when the service has ended the response'), async () => {
    await start({ streams: { holdMs: 1 } });
    const answer = client.ask('Hello');
    const text = answer.text();
    await eventually(() => answer.requests.length > 0);
    await eventually(() => host.agent.load().followers === 0);
    const run = await answer.respond([APPROVED, QUARTER]);
    expect(run).toMatchObject({ id: await answer.runId });
    expect(await text).toBe('Let me see. true answered Q1');
  });

  it(promise('client.asks', 'and a reader that has left comes back'), async () => {
    await start();
    const answer = client.ask('Hello');
    for await (const { type } of answer) if (type === 'input_required') break;
    await client.answer(await answer.runId, [{ id: 'refund', outcome: 'declined' }, QUARTER]);
    expect(await answer.text()).toBe('Let me see. false answered Q1');
    expect(answer.requests).toEqual([]);
  });

  it(promise('client.resumes-session', 'also while it asks, with what is open'), async () => {
    await start();
    await startAsking('s');
    const page = new AgentQueryClient({ baseUrl: host.url });
    const { turns, answer } = await page.resume('s');
    expect(turns).toEqual([]);
    for await (const { type } of answer!) if (type === 'input_required') break;
    expect(answer!.requests.map(({ id }) => id)).toEqual(['refund', 'quarter']);
    await answer!.respond([APPROVED, QUARTER]);
    expect(await answer!.text()).toBe('Let me see. true answered Q1');
    const after = await page.resume('s');
    expect(after.answer).toBeUndefined();
    expect(after.turns.map(({ text }) => text)).toEqual(['Let me see. true answered Q1']);
  });

  it(promise('client.inputs'), async () => {
    await start();
    const first = await startAsking('s');
    const second = await startAsking();
    const page = await client.openInputs({ limit: 3 });
    expect(page.inputs.map(({ runId, session }) => [runId, session])).toEqual([
      [second, null],
      [second, null],
      [first, 's'],
    ]);
    const { inputs: others, next } = await client.openInputs({ after: page.next! });
    expect([others.length, others[0]!.runId, next]).toEqual([1, first, null]);
    const ids = [...page.inputs, ...others].map(({ id }) => id).toSorted();
    expect(ids).toEqual(['quarter', 'quarter', 'refund', 'refund']);

    const run = await client.answer(first, [APPROVED]);
    expect(run).toMatchObject({ id: first, status: 'input_required' });
    const { inputs } = await client.inputs(first);
    expect(inputs).toMatchObject([
      { id: 'refund', kind: 'approval', resolved: { outcome: 'answered', value: { approved: true } } },
      { id: 'quarter', kind: 'input', resolved: null },
    ]);
  });

  it(promise('client.answer-again'), async () => {
    await start();
    const runId = await startAsking();
    const proxy = await CuttingProxy.before(host.url);
    proxy.cutAfter(0);
    const cut = new AgentQueryClient({ baseUrl: proxy.url });
    expect(await cut.answer(runId, [APPROVED, QUARTER])).toMatchObject({ id: runId });
    expect(proxy.cuts).toBe(1);
    expect(await client.follow(runId).text()).toBe('Let me see. true answered Q1');
    await proxy.stop();
  });

  it(promise('client.answer-refused'), async () => {
    await start();
    const runId = await startAsking();
    const wrong = client.answer(runId, [{ ...QUARTER, value: 'Q5' }]);
    await expect(wrong).rejects.toMatchObject({
      code: 'invalid_answer',
      status: 400,
      errors: [{ pointer: '/answers/0/value' }],
    });
    expect(await codeOf(client.answer(runId, [{ id: 'none', outcome: 'declined' }]))).toBe('not_found');
    expect(await codeOf(client.answer('none', [APPROVED]))).toBe('not_found');
    expect(await codeOf(client.inputs('none'))).toBe('not_found');
    await client.answer(runId, [APPROVED]);
    await expect(client.answer(runId, [{ id: 'refund', outcome: 'declined' }])).rejects.toMatchObject({
      code: 'input_resolved',
      status: 409,
      problem: { answers: [{ id: 'refund', outcome: 'answered', value: { approved: true } }] },
    });
    await client.cancel(runId);
    expect(await codeOf(client.answer(runId, [QUARTER]))).toBe('run_ended');
  });
});
