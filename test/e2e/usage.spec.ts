import { type Budget, message, type QueryModuleOptions, usage } from '../../src/index.js';
import { AgentQueryClient } from 'nest-agent-query-client';
import { promise } from '../promises.js';
import { ask, get, request } from '../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const DAY_MS = 24 * 60 * 60_000;

interface UsageBody {
  usage: Record<string, unknown>[];
  next: string | null;
}

describeOnOneAdapter('Usage on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  const start = async (options: Partial<QueryModuleOptions> = {}) => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, {
      owner: (request: { headers: Record<string, string> }) => request.headers['x-caller'],
      ...options,
    });
  };
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  const askAs = (caller: string, session?: string, headers: object = {}) =>
    ask(host.url, 'Hello', {
      headers: { 'x-caller': caller, ...headers },
      ...(session !== undefined && { kwargs: { session_id: session } }),
    });
  /** Asks, and lets the agent use so many tokens. Returns the stream. */
  const use = async (used: Parameters<typeof usage>[0], session?: string, caller = 'ann') => {
    const number = agent.calls.length + 1;
    const asked = await askAs(caller, session);
    const call = await agent.call(number);
    call.emit(usage(used));
    call.finish();
    return asked.whole();
  };
  const list = (parameters: string, caller = 'ann') =>
    get(host.url, `/query/usage${parameters}`, { 'x-caller': caller });
  const sumsAt = async (parameters: string, caller = 'ann') =>
    (await (await list(parameters, caller)).json<UsageBody>()).usage;

  it(promise('usage.sums', 'by day, by model and by session'), async () => {
    await start();
    const empty = await list('');
    expect([empty.status, await empty.whole()]).toEqual([200, '{"usage":[],"next":null}']);
    await use(
      { inputTokens: 1, outputTokens: 2, reasoningTokens: 3, cachedInputTokens: 4, model: 'm' },
      'a b',
    );
    const asked = await askAs('ann', 'a b');
    const call = await agent.call(2);
    call.emit(usage({ inputTokens: 10, outputTokens: 20, model: 'm' }));
    call.emit(usage({ inputTokens: 100, outputTokens: 200 }));
    call.emit(message('Hi'));
    // Not only when the run has ended.
    await asked.until('Hi');
    const counts = (runs: number, input: number, output: number, more = 0) =>
      `"runs":${runs},"inputTokens":${input},"outputTokens":${output},` +
      `"reasoningTokens":${more && 3},"cachedInputTokens":${more && 4}}`;
    const today = new Date().toISOString().slice(0, 10);
    const byDay = await list('?by=day');
    expect(byDay.headers['cache-control']).toBe('no-store');
    expect(await byDay.whole()).toBe(`{"usage":[{"day":"${today}",${counts(2, 111, 222, 1)}],"next":null}`);
    const byModel = await (await list('?by=model')).whole();
    expect(byModel).toContain(`{"model":"m",${counts(2, 11, 22, 1)}`);
    expect(byModel).toContain(`{"model":null,${counts(0, 100, 200)}`);
    call.finish();
    await asked.whole();
    await use({ inputTokens: 5, outputTokens: 0 });
    const bySession = await (await list('?by=session')).whole();
    expect(bySession).toContain(`{"session":"a b",${counts(2, 111, 222, 1)}`);
    expect(bySession).toContain(`{"session":null,${counts(1, 5, 0)}`);
    expect(await sumsAt('?by=model&session=a%20b')).toHaveLength(2);
    expect(await sumsAt(`?from=${today}&to=${today}`)).toMatchObject([{ runs: 3 }]);
    expect(await sumsAt('?to=2026-01-01')).toEqual([]);
    expect(await host.agent.usage('ann', { by: 'session', session: 'a b' })).toMatchObject({
      usage: [{ session: 'a b', runs: 2 }],
    });
  });

  it(promise('usage.sums', 'in pages'), async () => {
    await start();
    for (const model of ['a', 'b', 'c']) await use({ inputTokens: 1, outputTokens: 0, model });
    const models: unknown[] = [];
    for (let after = ''; ;) {
      const page = await (await list(`?by=model&limit=2${after}`)).json<UsageBody>();
      models.push(...page.usage.map(({ model }) => model));
      if (page.next === null) break;
      expect(page.usage).toHaveLength(2);
      after = `&after=${page.next}`;
    }
    expect(models.sort()).toEqual(['a', 'b', 'c']);
  });

  it(promise('usage.parameters'), async () => {
    await start();
    const reply = await list('?by=owner&from=2026-02-30&to=today&limit=0&after=x&session=a&session=b');
    expect(reply.status).toBe(400);
    const day = 'must be a day such as 2026-11-25';
    expect((await reply.json<{ errors: object[] }>()).errors).toEqual(
      expect.arrayContaining([
        { pointer: '/by', detail: 'must be one of session, model, day' },
        { pointer: '/from', detail: day },
        { pointer: '/to', detail: day },
        { pointer: '/session', detail: 'must occur once' },
        { pointer: '/limit', detail: 'must be a whole number from 1 to 500' },
        { pointer: '/after', detail: 'must be "next" of the page before' },
      ]),
    );
  });

  it(promise('usage.owners'), async () => {
    await start({ budgets: [{ per: 'day', tokens: 10 }] });
    await use({ inputTokens: 100, outputTokens: 0, model: 'of-ann' }, 's');
    await use({ inputTokens: 1, outputTokens: 0, model: 'of-bob' }, 's', 'bob');
    for (const by of ['day', 'model', 'session']) {
      expect(await sumsAt(`?by=${by}`, 'bob')).toMatchObject([{ runs: 1, inputTokens: 1 }]);
      expect(await sumsAt(`?by=${by}&session=s`, 'cid')).toEqual([]);
    }
    expect((await askAs('ann')).status).toBe(429);
    await use({ inputTokens: 1, outputTokens: 0 }, 's', 'bob');
  });

  it(promise('usage.kept'), async () => {
    await start();
    await use({ inputTokens: 1, outputTokens: 2 }, 's');
    const path = '/query/sessions/s';
    expect((await request(host.url, { method: 'DELETE', path, headers: { 'x-caller': 'ann' } })).status).toBe(
      204,
    );
    expect(await sumsAt('?by=session')).toMatchObject([{ session: null, runs: 1, inputTokens: 1 }]);
    expect(await sumsAt('?session=s')).toEqual([]);
  });

  it(promise('usage.price'), async () => {
    await start({
      price: ({ inputTokens, model }, owner) => (owner === 'ann' && model === 'm' ? 0.1 : 0) * inputTokens,
    });
    for (let i = 0; i < 3; i++) await use({ inputTokens: 1, outputTokens: 0, model: 'm' });
    await use({ inputTokens: 1, outputTokens: 0 });
    expect(await sumsAt('')).toMatchObject([{ runs: 4, price: 0.3 }]);
  });

  it.each([[-1], [NaN], [2e9], [undefined]])(
    promise('usage.price', 'that is %s fails the run'),
    async (price) => {
      await start({ price: () => price as number });
      expect(await use({ inputTokens: 1, outputTokens: 0 })).toContain('"code":"handler_failed"');
    },
  );

  it.each<[string, Budget, Partial<QueryModuleOptions>]>([
    ['tokens a day', { per: 'day', tokens: 10 }, {}],
    ['tokens a month', { per: 'month', tokens: 10 }, {}],
    ['a price a day', { per: 'day', price: 0.3 }, { price: () => 0.15 }],
  ])(promise('budget.reached', '%s'), async (_, budget, options) => {
    await start({ ...options, budgets: [budget] });
    const key = { 'idempotency-key': 'k' };
    const first = await askAs('ann', undefined, key);
    const call = await agent.call(1);
    call.emit(usage({ inputTokens: 2, outputTokens: 7 }));
    call.finish();
    await first.whole();
    // It exceeds the budget, and ends all the same.
    expect(await use({ inputTokens: 1, outputTokens: 1_000 })).toContain('"status":"completed"');
    const refused = await askAs('ann');
    expect([refused.status, refused.headers['content-type']]).toEqual([429, 'application/problem+json']);
    const now = new Date();
    const next =
      budget.per === 'day'
        ? (Math.floor(now.getTime() / DAY_MS) + 1) * DAY_MS
        : Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
    expect(await refused.json()).toEqual({
      type: 'about:blank',
      title: 'Too Many Requests',
      status: 429,
      detail: `Your budget for this ${budget.per} is used up. The next one begins at ${new Date(next).toISOString()}.`,
      code: 'budget_exceeded',
    });
    const seconds = Number(refused.headers['retry-after']);
    expect(seconds - (next - now.getTime()) / 1000).toBeLessThan(60);
    expect((await askAs('ann', undefined, key)).runId).toBe(first.runId);
    expect((await askAs('bob', undefined, { accept: 'text/event-stream' })).status).toBe(200);
    (await agent.call(3)).finish();
  });

  it(promise('budget.reached', 'as a function says for an owner'), async () => {
    const budgets = async (owner: string) => (owner === 'ann' ? [{ per: 'day' as const, tokens: 0 }] : []);
    await start({ budgets });
    expect((await askAs('ann')).status).toBe(429);
    await use({ inputTokens: 1, outputTokens: 1 }, undefined, 'bob');
  });

  it(promise('budget.hard'), async () => {
    await start({ budgets: [{ per: 'month', tokens: 10, hard: true }] });
    expect(await use({ inputTokens: 5, outputTokens: 5 }, undefined, 'bob')).toContain(
      '"status":"completed"',
    );
    const asked = await askAs('ann');
    const call = await agent.call(2);
    call.emit(message('a'), usage({ inputTokens: 10, outputTokens: 0 }), message('b'));
    call.emit(usage({ inputTokens: 0, outputTokens: 1 }), message('c'));
    call.finish();
    const stream = await asked.whole();
    expect(stream).toContain('"content":"b"');
    expect(stream).not.toContain('"content":"c"');
    expect(stream).toMatch(
      /data: {"type":"done","data":{"status":"failed","error":{"code":"budget_exceeded","message":"Your budget for this month is used up\. [^"]+"}}}\n\n$/,
    );
    expect(call.context.signal.aborted).toBe(true);
    expect(await sumsAt('')).toMatchObject([{ inputTokens: 10, outputTokens: 1 }]);
  });

  it.each([
    [{ budgets: [{ per: 'week', tokens: 1 }] }],
    [{ budgets: [{ per: 'day' }] }],
    [{ budgets: [{ per: 'day', tokens: -1 }] }],
    [{ budgets: [{ per: 'day', tokens: 1, hard: 1 }] }],
    [{ budgets: { per: 'day', tokens: 1 } }],
    [{ price: 1 }],
  ])(promise('budget.options', '%j'), async (options) => {
    await start();
    const [name] = Object.keys(options);
    const starting = startAgent(adapter, agent.handler, options as never);
    await expect(starting).rejects.toThrow(
      `${name} is ${JSON.stringify(Object.values(options)[0])}; it must be `,
    );
  });

  it(promise('client.usage'), async () => {
    await start();
    await use({ inputTokens: 1, outputTokens: 2 }, 's');
    const client = new AgentQueryClient({ baseUrl: host.url, headers: { 'x-caller': 'ann' } });
    expect(await client.usage({ by: 'session', from: '2026-01-01', limit: 9 })).toEqual({
      usage: [
        { session: 's', runs: 1, inputTokens: 1, outputTokens: 2, reasoningTokens: 0, cachedInputTokens: 0 },
      ],
      next: null,
    });
  });
});
