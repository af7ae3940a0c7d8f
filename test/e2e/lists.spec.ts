import { message } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, FULL, get, request, type Reply } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

interface RunsBody {
  runs: { id: string; status: string }[];
  next: string | null;
}

interface SessionsBody {
  sessions: { id: string; title: string | null; active: string | null }[];
  next: string | null;
}

describeOnOneAdapter('Lists on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, {
      owner: (request: { headers: Record<string, string> }) => request.headers['x-caller'],
    });
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  const headersOf = (caller: string) => ({ 'x-caller': caller });
  const askIn = (session: string | undefined, text = 'Hello', caller = 'ann') =>
    ask(host.url, text, {
      headers: headersOf(caller),
      ...(session !== undefined && { kwargs: { session_id: session } }),
    });
  /** Asks when the clock shows another time than before, so that lists have a certain order. */
  const answer = async (session: string | undefined, text = 'Hello', caller = 'ann') => {
    const since = Date.now();
    await eventually(() => Date.now() > since);
    const count = agent.calls.length + 1;
    const asked = await askIn(session, text, caller);
    const call = await agent.call(count);
    call.emit(message('Hi'));
    call.finish();
    await asked.whole();
    return asked;
  };
  const list = (path: string, caller = 'ann', headers: object = {}) =>
    get(host.url, `/query${path}`, { ...headersOf(caller), ...headers });
  const runsAt = async (path: string) => (await list(path)).json<RunsBody>();
  const sessionsAt = async (path: string) => (await list(`/sessions${path}`)).json<SessionsBody>();
  /** The bytes of an answer, with TIME for each time. */
  const bytesOf = async (reply: Reply) =>
    (await reply.whole()).replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME');

  it(promise('list.runs', 'as the same JSON as each of them, in any state, without a stream'), async () => {
    const empty = await list('');
    expect([empty.status, await empty.whole()]).toEqual([200, '{"runs":[],"next":null}']);
    const ended = await answer(undefined);
    const running = await askIn('s');
    const call = await agent.call(2);
    for (const accept of ['application/json', FULL.accept]) {
      const reply = await list('', 'ann', { accept });
      expect(reply.status).toBe(200);
      expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(reply.headers['cache-control']).toBe('no-store');
      expect(await bytesOf(reply)).toBe(
        `{"runs":[{"id":"${running.runId}","status":"running","session":"s","createdAt":"TIME",` +
          '"startedAt":"TIME","endedAt":null,"events":0},' +
          `{"id":"${ended.runId}","status":"completed","session":null,"createdAt":"TIME",` +
          '"startedAt":"TIME","endedAt":"TIME","events":2}],"next":null}',
      );
    }
    call.finish();
    await running.whole();
  });

  it(promise('list.runs', 'of a session or with a status'), async () => {
    const alone = await answer(undefined);
    const ended = await answer('a b');
    const running = await askIn('a b');
    const call = await agent.call(3);
    const found = async (query: string) => (await runsAt(`?${query}`)).runs.map(({ id }) => id);
    expect(await found('session=a%20b')).toEqual([running.runId, ended.runId]);
    expect(await found('session=a+b&status=completed')).toEqual([ended.runId]);
    expect(await found('status=completed')).toEqual([ended.runId, alone.runId]);
    expect(await found('status=running')).toEqual([running.runId]);
    expect(await found('session=other')).toEqual([]);
    expect(await found('status=waiting')).toEqual([]);
    call.finish();
    await running.whole();
  });

  it(promise('list.pages'), async () => {
    const runs: string[] = [];
    for (let i = 0; i < 5; i++) runs.unshift((await answer(`${i}`)).runId);
    const first = await runsAt('?limit=2');
    expect(first.runs.map(({ id }) => id)).toEqual(runs.slice(0, 2));
    // What is added or removed meanwhile does not move the others.
    await answer('5');
    await request(host.url, { method: 'DELETE', path: '/query/sessions/3', headers: headersOf('ann') });
    const second = await runsAt(`?limit=2&after=${first.next}`);
    expect(second.runs.map(({ id }) => id)).toEqual(runs.slice(2, 4));
    const third = await runsAt(`?limit=2&after=${second.next}`);
    expect(third).toMatchObject({ runs: [{ id: runs[4] }], next: null });

    const sessions: string[] = [];
    for (let after = ''; ;) {
      const page = await sessionsAt(`?limit=2${after}`);
      sessions.push(...page.sessions.map(({ id }) => id));
      if (page.next === null) break;
      after = `&after=${page.next}`;
    }
    expect(sessions).toEqual(['5', '4', '2', '1', '0']);
  });

  it(promise('list.pages', 'within a length'), async () => {
    const long = 'x'.repeat(5 * 1024 * 1024);
    for (const end of ['a', 'b']) await answer(`${long}${end}`);
    for (const path of ['', '/sessions']) {
      const page = (await (await list(path)).json<Record<string, unknown>>()) as unknown as RunsBody &
        SessionsBody;
      expect([(page.runs ?? page.sessions).length, typeof page.next]).toEqual([1, 'string']);
      const rest = (await (
        await list(`${path}?after=${page.next}`)
      ).json<Record<string, unknown>>()) as unknown as RunsBody & SessionsBody;
      expect([(rest.runs ?? rest.sessions).length, rest.next]).toEqual([1, null]);
    }
  });

  it(promise('list.sessions'), async () => {
    const empty = await list('/sessions');
    expect([empty.status, await empty.whole()]).toEqual([200, '{"sessions":[],"next":null}']);
    await answer('s', `What is\n ${'long '.repeat(30)}`);
    await answer('s', 'And now?');
    await answer('t', 'Bye');
    const running = await askIn('new', ' ');
    const call = await agent.call(4);
    const reply = await list('/sessions', 'ann', FULL);
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(reply.headers['cache-control']).toBe('no-store');
    expect(await bytesOf(reply)).toBe(
      `{"sessions":[{"id":"new","title":null,"turns":0,"updatedAt":"TIME","active":"${running.runId}","asking":null},` +
        '{"id":"t","title":"Bye","turns":1,"updatedAt":"TIME","active":null,"asking":null},' +
        `{"id":"s","title":"What is ${'long '.repeat(14)}lo","turns":2,"updatedAt":"TIME","active":null,"asking":null}],` +
        '"next":null}',
    );
    call.finish();
    await running.whole();
  });

  it(promise('session.active', 'also before its first turn'), async () => {
    const asked = [await askIn('s'), await askIn('s'), await askIn('s')];
    const call = await agent.call(1);
    const shown = await list('/sessions/s');
    expect([shown.status, await shown.whole()]).toEqual([
      200,
      `{"id":"s","active":"${asked[0]!.runId}","asking":null,"waiting":2,"turns":[],"next":null}`,
    ]);
    call.finish();
    for (const number of [2, 3]) (await agent.call(number)).finish();
    for (const reply of asked) await reply.whole();
    expect(await (await list('/sessions/s')).json()).toMatchObject({ active: null, waiting: 0 });
  });

  it(promise('list.owners'), async () => {
    const [anns, bobs] = [await answer('s', 'of ann', 'ann'), await answer('s', 'of bob', 'bob')];
    for (const [caller, { runId }] of [
      ['ann', anns],
      ['bob', bobs],
    ] as const) {
      const { runs } = await (await list('', caller)).json<RunsBody>();
      expect(runs.map(({ id }) => id)).toEqual([runId]);
      const { sessions } = await (await list('/sessions', caller)).json<SessionsBody>();
      expect(sessions).toMatchObject([{ id: 's', title: `of ${caller}`, active: null }]);
    }
    expect(await (await list('', 'cid')).json()).toEqual({ runs: [], next: null });
    expect(await (await list('/sessions', 'cid')).json()).toEqual({ sessions: [], next: null });
  });

  it(promise('list.parameters'), async () => {
    const problem = (detail: string, errors: object[]) => ({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail,
      code: 'invalid_query',
      errors,
    });
    const limit = { pointer: '/limit', detail: 'must be a whole number from 1 to 500' };
    const status = {
      pointer: '/status',
      detail: 'must be one of waiting, running, input_required, completed, failed, cancelled',
    };
    const after = { pointer: '/after', detail: 'must be "next" of the page before' };
    const all = await list('?limit=0&status=done&after=x&session=a&session=b');
    expect(all.status).toBe(400);
    expect(all.headers['content-type']).toBe('application/problem+json');
    expect(await all.json()).toEqual(
      problem(
        'The parameter "session" must occur once. ' +
          'The parameter "status" must be one of waiting, running, input_required, completed, failed, cancelled. ' +
          'The parameter "limit" must be a whole number from 1 to 500. ' +
          'The parameter "after" must be "next" of the page before.',
        [{ pointer: '/session', detail: 'must occur once' }, status, limit, after],
      ),
    );
    for (const value of ['', '501', '-1', '1e2', '1.0', '%00', '1&limit=2', 'x'.repeat(1_000)]) {
      for (const path of ['', '/sessions', '/sessions/s']) {
        const reply = await list(`${path}?limit=${value}`);
        expect([path, value, (await reply.json<{ errors: unknown }>()).errors]).toEqual([
          path,
          value,
          [limit],
        ]);
      }
    }
    const cursor = (text: string) => Buffer.from(text).toString('base64url');
    const forged = [
      '1',
      '.x',
      '-1.x',
      '1.x y',
      `1.${'x'.repeat(101)}`,
      '1e3.x',
      '1.%',
      '1.\u0000',
      '9'.repeat(99),
    ];
    for (const value of [
      '',
      '1',
      '%00',
      '=',
      `${cursor('1.x')}=`,
      `${cursor('1.x')}!`,
      ...forged.map(cursor),
    ]) {
      for (const path of ['', '/sessions']) {
        const reply = await list(`${path}?after=${value}`);
        expect([path, value, reply.status]).toEqual([path, value, 400]);
        expect(await reply.json()).toEqual(problem(`The parameter "after" ${after.detail}.`, [after]));
      }
    }
    for (const value of ['', 'Waiting', 'toString', '__proto__', 'waiting,running']) {
      const reply = await list(`?status=${value}`);
      expect([value, (await reply.json<{ errors: unknown }>()).errors]).toEqual([value, [status]]);
    }
    // A parameter that the service does not know has no effect, and neither has one that is forged but well-formed.
    expect(await (await list(`?unknown=1&after=${cursor('999.x')}`)).json()).toEqual({
      runs: [],
      next: null,
    });
  });

  it(promise('list.head'), async () => {
    await answer('s');
    for (const path of ['/query', '/query/sessions', '/query?limit=1']) {
      const shown = await get(host.url, path, headersOf('ann'));
      const body = await shown.whole();
      const head = await request(host.url, { method: 'HEAD', path, headers: headersOf('ann') });
      expect([head.status, await head.whole()]).toEqual([200, '']);
      expect(head.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(head.headers['content-length']).toBe(`${Buffer.byteLength(body)}`);
    }
  });

  it(promise('list.host'), async () => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.unshift((await answer(`${i}`)).runId);
    const page = await host.agent.runs('ann', { limit: 2 });
    expect(page.runs.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    const rest = await host.agent.runs('ann', { limit: 2, after: page.next! });
    expect([rest.runs.map(({ id }) => id), rest.next]).toEqual([ids.slice(2), null]);
    expect((await host.agent.runs('ann', { session: '1', status: 'completed' })).runs).toMatchObject([
      { id: ids[1] },
    ]);
    expect((await host.agent.sessions('ann')).sessions.map(({ id }) => id)).toEqual(['2', '1', '0']);
    expect(await host.agent.sessions('bob')).toEqual({ sessions: [], next: null });
    await expect(host.agent.sessions('ann', { after: 'x' })).rejects.toMatchObject({ code: 'invalid_query' });
  });
});
