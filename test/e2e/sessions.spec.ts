import { createHash } from 'node:crypto';
import { message } from '../../src/index.js';
import { answerOf, Connection, envelopesOf, post } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';
import { Puppet } from '../support/puppet.js';

const KWARGS = { session_id: 's' };

describe.each(ADAPTERS)('A session on %s', (adapter) => {
  let host: Host;
  let puppet: Puppet;
  const start = async (options: object = {}) => {
    puppet = new Puppet();
    host = await startAgent(adapter, puppet.handler, {
      owner: (request: { headers: Record<string, string> }) => request.headers['x-caller'],
      ...options,
    });
  };
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const ask = (text: string, session = 's', caller = 'ann') =>
    Connection.post(host.url, text, { 'x-caller': caller }, { session_id: session });
  const sessionAt = (path: string, method = 'GET', caller = 'ann') =>
    fetch(`${host.url}/query/sessions/${path}`, { method, headers: { 'x-caller': caller } });
  const answer = async (text: string, session = 's', caller = 'ann') => {
    const count = puppet.calls.length + 1;
    const asked = await ask(text, session, caller);
    const call = await puppet.call(count);
    call.emit(message(`Re: ${text}`));
    call.finish();
    return { stream: (await asked.readBytes()).toString(), call, runId: asked.runId };
  };

  it('answers ten queued queries in order, while another session is not delayed', async () => {
    await start();
    const queued: Connection[] = [];
    for (let i = 1; i <= 10; i++) queued.push(await ask(`${i}`));
    await puppet.call(1);
    const other = await answer('other', 'other');
    expect(answerOf(other.stream)).toEqual({ text: 'Re: other', done: [{ status: 'completed' }] });
    expect(puppet.calls.map(({ text }) => text)).toEqual(['1', 'other']);
    const streams: string[] = [];
    for (const [index, asked] of queued.entries()) {
      const call = await puppet.call(index === 0 ? 1 : index + 2);
      expect(call.text).toBe(`${index + 1}`);
      expect(call.context.session!.turns.map(({ text }) => text)).toEqual(
        Array.from({ length: index }, (_, turn) => `answer ${turn + 1}`),
      );
      call.emit(message(`answer ${index + 1}`));
      call.finish();
      streams.push((await asked.readBytes()).toString());
    }
    expect(streams.map(answerOf)).toEqual(
      streams.map((_, index) => ({ text: `answer ${index + 1}`, done: [{ status: 'completed' }] })),
    );
    expect(envelopesOf(streams[2]!)[0]).toEqual({
      type: 'log',
      data: { message: "Waiting in line: 2 of the session's queries come first." },
    });
  });

  it('keeps a waiting stream alive', async () => {
    await start({ streams: { keepAliveMs: 20 } });
    const first = await ask('1');
    const second = await ask('2');
    const call = await puppet.call(1);
    await second.readUntil('come first."}}\n\n\n\n\n\n');
    call.finish();
    (await puppet.call(2)).finish();
    await Promise.all([first.readBytes(), second.readBytes()]);
  });

  it('hands its turns to the handler and shows them: texts, files by what is known of them, answers and ends', async () => {
    await start();
    const first = fetch(`${host.url}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-caller': 'ann' },
      body: JSON.stringify({
        parts: [
          { type: 'text', text: 'What is it?' },
          { type: 'file', name: 'a.txt', mimeType: 'text/plain', base64: 'SGVsbG8=' },
        ],
        kwargs: KWARGS,
      }),
    });
    const call = await puppet.call(1);
    expect(call.context.session).toMatchObject({ id: 's', turns: [] });
    call.emit(message('A '), message('greeting.'));
    call.fail(new Error('secret'));
    await (await first).text();
    const second = await answer('And now?');
    const [turn] = second.call.context.session!.turns;
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
    const shown = (await (await sessionAt('s')).json()) as { turns: unknown[] };
    expect(shown).toMatchObject({ id: 's', next: null, turns: [turn, { text: 'Re: And now?' }] });
    expect(JSON.stringify(shown)).not.toContain('secret');
  });

  it('gives a handler the newest turns only, as many as the options say', async () => {
    await start({ runs: { sessionTurns: 2 } });
    for (const text of ['1', '2', '3']) await answer(text);
    const { call } = await answer('4');
    expect(call.context.session!.turns.map(({ text }) => text)).toEqual(['Re: 2', 'Re: 3']);
  });

  it('is read in pages, oldest first', async () => {
    await start();
    for (const text of ['1', '2', '3', '4', '5']) await answer(text);
    const pages: unknown[] = [];
    for (let next: number | null = 0; next !== null;) {
      const page = (await (await sessionAt(`s?after=${next}&limit=2`)).json()) as {
        turns: { text: string }[];
        next: number | null;
      };
      pages.push(page.turns.map(({ text }) => text));
      next = page.next;
    }
    expect(pages).toEqual([['Re: 1', 'Re: 2'], ['Re: 3', 'Re: 4'], ['Re: 5']]);
    for (const query of ['limit=0', 'limit=501', 'limit=x', 'after=-1', 'after=1e3']) {
      expect((await sessionAt(`s?${query}`)).status).toBe(400);
    }
  });

  it('refuses a second query where its policy is to reject', async () => {
    await start({ runs: { sessionPolicy: 'reject' } });
    const first = await ask('1');
    const refused = await ask('2');
    expect(refused.status).toBe(409);
    expect(JSON.parse((await refused.readBytes()).toString())).toMatchObject({ code: 'session_busy' });
    (await puppet.call(1)).finish();
    await first.readBytes();
    expect(answerOf((await answer('3')).stream).done).toEqual([{ status: 'completed' }]);
  });

  it('lets the newer query cancel the older where its policy is to interrupt', async () => {
    await start({ runs: { sessionPolicy: 'interrupt' } });
    const asked = [await ask('1'), await ask('2'), await ask('3')];
    const third = () => puppet.calls.find(({ text }) => text === '3');
    await eventually(() => third() !== undefined);
    third()!.finish();
    const streams = await Promise.all(asked.map((connection) => connection.readBytes()));
    expect(streams.map((stream) => answerOf(stream.toString()).done)).toEqual([
      [{ status: 'cancelled' }],
      [{ status: 'cancelled' }],
      [{ status: 'completed' }],
    ]);
    const aborted = puppet.calls.map(({ text, context }) => [text, context.signal.aborted]);
    expect(aborted).toContainEqual(['1', true]);
    expect(aborted).toContainEqual(['3', false]);
  });

  it('lets as many queries wait as may, and refuses one more with 429 and Retry-After', async () => {
    await start({ runs: { maxWaitingPerSession: 2 } });
    const asked = [await ask('1'), await ask('2'), await ask('3')];
    const refused = await ask('4');
    expect(refused.status).toBe(429);
    expect(Number(refused.response.headers['retry-after'])).toBeGreaterThan(0);
    expect(JSON.parse((await refused.readBytes()).toString())).toMatchObject({ code: 'session_full' });
    for (let i = 1; i <= 3; i++) (await puppet.call(i)).finish();
    await Promise.all(asked.map((connection) => connection.readBytes()));
  });

  it('is erased with its runs and their logs; what goes on in it is cancelled', async () => {
    await start();
    const { runId } = await answer('1');
    const kept = await answer('1', 'kept');
    const asked = [await ask('2'), await ask('3')];
    const running = await puppet.call(3);
    expect((await sessionAt('s', 'DELETE')).status).toBe(204);
    await running.stopped;
    for (const connection of asked) {
      const stream = (await connection.readBytes()).toString();
      // A follower may find its log erased before it has read the end.
      expect([[{ status: 'cancelled' }], []]).toContainEqual(answerOf(stream).done);
    }
    expect(puppet.calls).toHaveLength(3);
    expect((await sessionAt('s')).status).toBe(404);
    expect((await sessionAt('s', 'DELETE')).status).toBe(404);
    const find = (id: string) => fetch(`${host.url}/query/${id}`, { headers: { 'x-caller': 'ann' } });
    expect((await find(runId)).status).toBe(404);
    expect((await find(kept.runId)).status).toBe(200);
    const fresh = await answer('4');
    expect(fresh.call.context.session!.turns).toEqual([]);
  });

  it('is another one for another caller with the same session_id', async () => {
    await start();
    await answer('secret', 's', 'ann');
    const [one, two] = [await ask('1', 's', 'ann'), await ask('2', 's', 'bob')];
    const [first, second] = [await puppet.call(2), await puppet.call(3)];
    expect([first, second].map(({ context }) => context.session!.turns.length)).toEqual([1, 0]);
    second.finish();
    first.finish();
    await Promise.all([one.readBytes(), two.readBytes()]);
    expect((await sessionAt('s', 'DELETE', 'bob')).status).toBe(204);
    expect(((await (await sessionAt('s')).json()) as { turns: unknown[] }).turns).toHaveLength(2);
  });

  it('may have any name', async () => {
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

  it('goes on when a query of its line leaves', async () => {
    await start({ runs: { disconnect: 'cancel' } });
    const asked = [await ask('1'), await ask('2'), await ask('3')];
    asked[1]!.cut();
    await eventually(() => host.agent.load().followers === 2);
    (await puppet.call(1)).finish();
    const next = await puppet.call(2);
    expect(next.text).toBe('3');
    next.finish();
    await Promise.all([asked[0]!.readBytes(), asked[2]!.readBytes()]);
  });

  it('refuses nothing that has no session', async () => {
    await start({ runs: { sessionPolicy: 'reject' } });
    const asked = [
      post(host.url, '1'),
      post(host.url, '2', { kwargs: { session_id: '' } }),
      post(host.url, '3'),
    ];
    for (let i = 1; i <= 3; i++) (await puppet.call(i)).finish();
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});
