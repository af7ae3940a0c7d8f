import { createHash } from 'node:crypto';
import { type HandlerFunction, message, type SessionRef } from '../../src/index.js';
import { promise } from '../promises.js';
import { answerOf, ask, envelopesOf, get, request, type Reply } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { OperatorLog } from '../support/operator-log.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

describeOnOneAdapter('A session on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  const start = async (options: object = {}, sessionErased?: HandlerFunction['sessionErased']) => {
    agent = new ScriptedAgent();
    const handler: HandlerFunction = Object.assign(agent.handler, sessionErased && { sessionErased });
    host = await startAgent(adapter, handler, {
      owner: (request: { headers: Record<string, string> }) => request.headers['x-caller'],
      ...options,
    });
  };
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const askIn = (text: string, session = 's', caller = 'ann') =>
    ask(host.url, text, { headers: { 'x-caller': caller }, kwargs: { session_id: session } });
  const sessionAt = (path: string, method = 'GET', caller = 'ann') =>
    request(host.url, { method, path: `/query/sessions/${path}`, headers: { 'x-caller': caller } });
  const answer = async (text: string, session = 's', caller = 'ann') => {
    const count = agent.calls.length + 1;
    const asked = await askIn(text, session, caller);
    const call = await agent.call(count);
    call.emit(message(`Re: ${text}`));
    call.finish();
    return { stream: await asked.whole(), call, runId: asked.runId };
  };

  it(promise('session.enqueue', 'ten queries, while another session is not delayed'), async () => {
    await start();
    const queued: Reply[] = [];
    for (let i = 1; i <= 10; i++) queued.push(await askIn(`${i}`));
    await agent.call(1);
    const other = await answer('other', 'other');
    expect(answerOf(other.stream)).toEqual({ text: 'Re: other', done: [{ status: 'completed' }] });
    expect(agent.calls.map(({ text }) => text)).toEqual(['1', 'other']);
    const streams: string[] = [];
    for (const [index, asked] of queued.entries()) {
      const call = await agent.call(index === 0 ? 1 : index + 2);
      expect(call.text).toBe(`${index + 1}`);
      expect(call.context.history.map(({ text }) => text)).toEqual(
        Array.from({ length: index }, (_, turn) => `answer ${turn + 1}`),
      );
      call.emit(message(`answer ${index + 1}`));
      call.finish();
      streams.push(await asked.whole());
    }
    expect(streams.map(answerOf)).toEqual(
      streams.map((_, index) => ({ text: `answer ${index + 1}`, done: [{ status: 'completed' }] })),
    );
    expect(envelopesOf(streams[2]!)[0]).toEqual({
      type: 'log',
      data: { message: 'Waiting in the queue of the session: 2 ahead.' },
    });
  });

  it(promise('profile.keep-alive', 'also while a query waits'), async () => {
    await start({ streams: { keepAliveMs: 20 } });
    const first = await askIn('1');
    const second = await askIn('2');
    const call = await agent.call(1);
    await second.until('ahead."}}\n\n' + '\n\n'.repeat(3));
    call.finish();
    (await agent.call(2)).finish();
    await Promise.all([first.whole(), second.whole()]);
  });

  it(promise('session.turns'), async () => {
    await start();
    const body = JSON.stringify({
      parts: [
        { type: 'text', text: 'What is it?' },
        { type: 'file', name: 'a.txt', mimeType: 'text/plain', base64: 'SGVsbG8=' },
      ],
      kwargs: { session_id: 's' },
    });
    const first = request(host.url, { headers: { 'x-caller': 'ann' } }, body);
    const call = await agent.call(1);
    expect(call.context).toMatchObject({ session: { id: 's' }, history: [] });
    call.emit(message('A '), message('greeting.'));
    call.fail(new Error('secret'));
    await (await first).whole();
    const second = await answer('And now?');
    const [turn] = second.call.context.history;
    expect(turn).toMatchObject({
      parts: [
        { type: 'text', text: 'What is it?' },
        {
          type: 'file',
          name: 'a.txt',
          mimeType: 'text/plain',
          size: 5,
          sha256: createHash('sha256').update('Hello').digest('hex'),
        },
      ],
      text: 'A greeting.',
      end: { status: 'failed', error: { code: 'handler_failed' } },
    });
    const shown = await sessionAt('s');
    expect(await shown.json()).toMatchObject({
      id: 's',
      next: null,
      turns: [turn, { text: 'Re: And now?' }],
    });
    expect(shown.text).not.toContain('secret');
  });

  it(promise('session.newest-turns'), async () => {
    await start({ runs: { sessionTurns: 2 } });
    for (const text of ['1', '2', '3']) await answer(text);
    const { call } = await answer('4');
    expect(call.context.history.map(({ text }) => text)).toEqual(['Re: 2', 'Re: 3']);
  });

  it(promise('session.pages'), async () => {
    await start();
    for (const text of ['1', '2', '3', '4', '5']) await answer(text);
    const pages: unknown[] = [];
    for (let next: number | null = 0; next !== null;) {
      const shown = await sessionAt(`s?after=${next}&limit=2`);
      const page = await shown.json<{ turns: { text: string }[]; next: number | null }>();
      pages.push(page.turns.map(({ text }) => text));
      next = page.next;
    }
    expect(pages).toEqual([['Re: 1', 'Re: 2'], ['Re: 3', 'Re: 4'], ['Re: 5']]);
    for (const query of ['limit=0', 'limit=501', 'limit=x', 'after=-1', 'after=1e3']) {
      expect((await sessionAt(`s?${query}`)).status).toBe(400);
    }
  });

  it(promise('session.reject'), async () => {
    await start({ runs: { sessionPolicy: 'reject' } });
    const first = await askIn('1');
    const refused = await askIn('2');
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({ code: 'session_busy' });
    (await agent.call(1)).finish();
    await first.whole();
    expect(answerOf((await answer('3')).stream).done).toEqual([{ status: 'completed' }]);
  });

  it(promise('session.interrupt'), async () => {
    await start({ runs: { sessionPolicy: 'interrupt' } });
    const asked = [await askIn('1'), await askIn('2'), await askIn('3')];
    const third = () => agent.calls.find(({ text }) => text === '3');
    await eventually(() => third() !== undefined);
    third()!.finish();
    const streams = await Promise.all(asked.map((connection) => connection.whole()));
    expect(streams.map((stream) => answerOf(stream.toString()).done)).toEqual([
      [{ status: 'cancelled' }],
      [{ status: 'cancelled' }],
      [{ status: 'completed' }],
    ]);
    const aborted = agent.calls.map(({ text, context }) => [text, context.signal.aborted]);
    expect(aborted).toContainEqual(['1', true]);
    expect(aborted).toContainEqual(['3', false]);
  });

  it(promise('session.full'), async () => {
    await start({ runs: { maxWaitingPerSession: 2 } });
    const asked = [await askIn('1'), await askIn('2'), await askIn('3')];
    const refused = await askIn('4');
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toBe('5');
    expect(await refused.json()).toMatchObject({ code: 'session_full' });
    for (let i = 1; i <= 3; i++) (await agent.call(i)).finish();
    await Promise.all(asked.map((connection) => connection.whole()));
  });

  it(promise('session.erase'), async () => {
    await start();
    const { runId } = await answer('1');
    const kept = await answer('1', 'kept');
    const asked = [await askIn('2'), await askIn('3')];
    const running = await agent.call(3);
    expect((await sessionAt('s', 'DELETE')).status).toBe(204);
    await running.stopped;
    for (const connection of asked) {
      expect(answerOf(await connection.whole()).done).toEqual([{ status: 'cancelled' }]);
    }
    expect(agent.calls).toHaveLength(3);
    expect((await sessionAt('s')).status).toBe(404);
    expect((await sessionAt('s', 'DELETE')).status).toBe(404);
    const find = (id: string) => get(host.url, `/query/${id}`, { 'x-caller': 'ann' });
    expect((await find(runId)).status).toBe(404);
    expect((await find(kept.runId)).status).toBe(200);
    const fresh = await answer('4');
    expect(fresh.call.context.history).toEqual([]);
  });

  it(promise('session.erased-hook'), async () => {
    const erased: SessionRef[] = [];
    const sessionErased = async (session: SessionRef) => {
      // The session does not exist any more.
      expect((await sessionAt(session.id)).status).toBe(404);
      erased.push(session);
      if (session.id === 'broken') throw new Error('The memory cannot be erased.');
    };
    await start({}, sessionErased);
    const log = OperatorLog.of(host.app);
    await answer('1', 's');
    await answer('2', 'broken');
    expect((await sessionAt('s', 'DELETE', 'bob')).status).toBe(404);
    expect(erased).toEqual([]);
    expect((await sessionAt('s', 'DELETE')).status).toBe(204);
    expect(log.troubles).toEqual([]);
    expect((await sessionAt('broken', 'DELETE')).status).toBe(204);
    expect((await sessionAt('broken', 'DELETE')).status).toBe(404);
    expect(erased).toEqual([
      { owner: 'ann', id: 's' },
      { owner: 'ann', id: 'broken' },
    ]);
    expect(log.troubles).toEqual([
      expect.stringMatching(
        /^error The handler could not erase what it keeps of the session "broken"\. Error: The memory cannot be erased\./,
      ),
    ]);
  });

  it(promise('owner.sessions'), async () => {
    await start();
    await answer('secret', 's', 'ann');
    const [one, two] = [await askIn('1', 's', 'ann'), await askIn('2', 's', 'bob')];
    const [first, second] = [await agent.call(2), await agent.call(3)];
    expect([first, second].map(({ context }) => context.history.length)).toEqual([1, 0]);
    second.finish();
    first.finish();
    await Promise.all([one.whole(), two.whole()]);
    expect((await sessionAt('s', 'DELETE', 'bob')).status).toBe(204);
    const { turns } = await (await sessionAt('s')).json<{ turns: unknown[] }>();
    expect(turns).toHaveLength(2);
  });

  it(promise('session.any-id'), async () => {
    await start();
    for (const name of ['a/b?c#d', '..', 'ü\u0000\u{1f600}', 'x'.repeat(90), '%2e']) {
      await answer('1', name);
      const shown = await sessionAt(encodeURIComponent(name).replace(/^\.\.$/, '%2e%2e'));
      // A path whose segment is two dots is another path for every client (WHATWG URL §4.5).
      if (name === '..') continue;
      expect([name, shown.status]).toEqual([name, 200]);
      expect(await shown.json()).toMatchObject({ id: name, turns: [{ text: 'Re: 1' }] });
    }
  });

  it(promise('session.leaves-queue'), async () => {
    await start({ runs: { disconnect: 'cancel' } });
    const asked = [await askIn('1'), await askIn('2'), await askIn('3')];
    asked[1]!.cut();
    await eventually(() => host.agent.load().followers === 2);
    (await agent.call(1)).finish();
    const next = await agent.call(2);
    expect(next.text).toBe('3');
    next.finish();
    await Promise.all([asked[0]!.whole(), asked[2]!.whole()]);
  });

  it(promise('session.none'), async () => {
    await start({ runs: { sessionPolicy: 'reject' } });
    const asked = [
      ask(host.url, '1'),
      ask(host.url, '2', { kwargs: { session_id: '' } }),
      ask(host.url, '3'),
    ];
    for (let i = 1; i <= 3; i++) (await agent.call(i)).finish();
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});
