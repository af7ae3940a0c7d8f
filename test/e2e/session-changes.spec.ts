import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentQueryClient } from 'nest-agent-query-client';
import { type HandlerFunction, message, type RunStore, type SessionRef } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { promise } from '../promises.js';
import { ask, get, request } from '../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const FILE = 'A file of a turn.';
const SHA256 = createHash('sha256').update(FILE).digest('hex');

describeOnOneAdapter('A session that changes, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  const start = async (store?: RunStore, sessionErased?: HandlerFunction['sessionErased']) => {
    agent = new ScriptedAgent();
    const handler: HandlerFunction = Object.assign(agent.handler, sessionErased && { sessionErased });
    host = await startAgent(adapter, handler, {
      owner: (asked: { headers: Record<string, string> }) => asked.headers['x-caller'],
      ...(store && { store }),
    });
  };
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  const askIn = (session: string, text: string, headers: Record<string, string> = {}) =>
    ask(host.url, text, { headers, kwargs: { session_id: session } });
  /** Asks, and answers with another text. */
  const answer = async (session: string, text: string, headers: Record<string, string> = {}) => {
    const count = agent.calls.length + 1;
    const asked = await askIn(session, text, headers);
    expect([asked.status, asked.status === 200 ? '' : await asked.whole()]).toEqual([200, '']);
    const call = await agent.call(count);
    call.emit(message(`Re: ${text}`));
    call.finish();
    await asked.whole();
    return { runId: asked.runId, history: call.context.history.map((turn) => turn.text) };
  };
  const turnsOf = async (session: string) => {
    const shown = await get(host.url, `/query/sessions/${session}`);
    if (shown.status !== 200) return shown.status;
    return (await shown.json<{ turns: { text: string }[] }>()).turns.map(({ text }) => text);
  };
  const fork = (session: string, body: unknown, headers: Record<string, string> = {}) =>
    request(host.url, { path: `/query/sessions/${session}/fork`, headers }, JSON.stringify(body));

  it(promise('session.replace'), async () => {
    await start();
    const runs = [await answer('s', '1'), await answer('s', '2'), await answer('s', '3')];
    expect((await answer('s', 'two', { 'session-after': '1' })).history).toEqual(['Re: 1']);
    expect(await turnsOf('s')).toEqual(['Re: 1', 'Re: two']);
    // The runs and their logs stay as long as other runs do.
    expect((await get(host.url, `/query/${runs[1]!.runId}`)).status).toBe(200);
    expect((await answer('s', 'one', { 'session-after': '0' })).history).toEqual([]);
    expect(await turnsOf('s')).toEqual(['Re: one']);
    const list = await get(host.url, '/query/sessions');
    expect(await list.json()).toMatchObject({ sessions: [{ id: 's', title: 'one', turns: 1 }] });
  });

  it(promise('session.replace-once'), async () => {
    await start();
    await answer('s', '1');
    const again = { 'session-after': '0', 'idempotency-key': 'k' };
    const { runId } = await answer('s', 'one', again);
    await answer('s', '2');
    const repeated = await askIn('s', 'one', again);
    expect([repeated.runId, agent.calls.length]).toEqual([runId, 3]);
    await repeated.whole();
    expect(await turnsOf('s')).toEqual(['Re: one', 'Re: 2']);
    const other = await askIn('s', 'one', { ...again, 'session-after': '1' });
    expect([other.status, (await other.json<{ code: string }>()).code]).toEqual([
      422,
      'idempotency_conflict',
    ]);
  });

  it(promise('session.replace-refused'), async () => {
    await start();
    await answer('s', '1');
    const refusal = async (sent: Promise<{ status: number; json<T>(): Promise<T> }>) => {
      const reply = await sent;
      const { code, detail } = await reply.json<{ code: string; detail: string }>();
      return [reply.status, code, detail];
    };
    for (const value of ['-1', '1.5', 'x', '', '1e2', '9'.repeat(16)]) {
      expect([value, ...(await refusal(askIn('s', 'x', { 'session-after': value })))]).toEqual([
        value,
        400,
        'invalid_query',
        'Session-After must be a whole number from 0: the number of a turn.',
      ]);
    }
    expect(await refusal(ask(host.url, 'x', { headers: { 'session-after': '0' } }))).toEqual([
      400,
      'invalid_query',
      'Session-After needs a session: name it in kwargs.session_id.',
    ]);
    expect(await refusal(askIn('s', 'x', { 'session-after': '2' }))).toEqual([
      400,
      'invalid_query',
      'Session-After is 2, but the newest turn of the session is 1. Send a number from 0 to 1.',
    ]);
    const running = await askIn('s', '2');
    const call = await agent.call(2);
    expect((await refusal(askIn('s', 'x', { 'session-after': '0' }))).slice(0, 2)).toEqual([
      409,
      'session_busy',
    ]);
    call.finish();
    await running.whole();
    expect(await turnsOf('s')).toEqual(['Re: 1', '']);
  });

  it(promise('session.replace-hook'), async () => {
    const erased: [SessionRef, number][] = [];
    await start(undefined, (session) => void erased.push([session, agent.calls.length]));
    await answer('s', '1', { 'x-caller': 'ann' });
    await answer('s', 'one', { 'x-caller': 'ann', 'session-after': '0' });
    expect(erased).toEqual([[{ owner: 'ann', id: 's', goesOn: true }, 1]]);
  });

  it(promise('session.fork'), async () => {
    await start();
    for (const text of ['1', '2', '3']) await answer('s', text);
    const made = await fork('s', { afterTurn: 2, session_id: 'a b/ü' });
    expect([made.status, made.headers['location']]).toEqual([201, '/query/sessions/a%20b%2F%C3%BC']);
    expect(await made.json()).toEqual({
      id: 'a b/ü',
      title: '1',
      turns: 2,
      updatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      active: null,
      asking: null,
    });
    expect((await answer('a b/ü', 'f')).history).toEqual(['Re: 1', 'Re: 2']);
    await answer('s', '4');
    expect(await turnsOf('a%20b%2F%C3%BC')).toEqual(['Re: 1', 'Re: 2', 'Re: f']);
    expect(await turnsOf('s')).toEqual(['Re: 1', 'Re: 2', 'Re: 3', 'Re: 4']);
    const unnamed = await fork('s', { afterTurn: 0, session_id: null });
    const { id } = await unnamed.json<{ id: string }>();
    expect(unnamed.headers['location']).toBe(`/query/sessions/${id}`);
    expect(await turnsOf(id)).toEqual([]);
  });

  it(promise('session.fork-shares'), async () => {
    const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-forks-'));
    const files = async () =>
      (await readdir(join(directory, 'runs.db.files'), { recursive: true })).filter((name) =>
        name.includes('/'),
      );
    await start(await openStore(`file:${join(directory, 'runs.db')}`));
    const parts = [
      { type: 'text', text: 'x'.repeat(70_000) },
      { type: 'file', name: 'a.txt', mimeType: 'text/plain', base64: Buffer.from(FILE).toString('base64') },
    ];
    const asked = request(host.url, {}, JSON.stringify({ parts, kwargs: { session_id: 's' } }));
    (await agent.call(1)).finish();
    const { runId } = await asked;
    await (await asked).whole();
    const page = await (
      await get(host.url, '/query/sessions/s')
    ).json<{ turns: [{ parts: { sha256: string }[] }] }>();
    const digests = page.turns[0].parts.map(({ sha256 }) => sha256);
    expect(digests[1]).toBe(SHA256);
    const read = () =>
      Promise.all(
        digests.map(
          async (sha256) => (await (await get(host.url, `/query/${runId}/files/${sha256}`)).whole()).length,
        ),
      );
    await fork('s', { afterTurn: 1, session_id: 'f' });
    const erase = (id: string) => request(host.url, { method: 'DELETE', path: `/query/sessions/${id}` });
    expect((await erase('s')).status).toBe(204);
    expect((await get(host.url, `/query/${runId}`)).status).toBe(404);
    expect(await turnsOf('f')).toEqual(['']);
    expect(await read()).toEqual([70_000, FILE.length]);
    expect(await files()).toHaveLength(1);
    expect((await erase('f')).status).toBe(204);
    for (const sha256 of digests)
      expect((await get(host.url, `/query/${runId}/files/${sha256}`)).status).toBe(404);
    expect(await files()).toEqual([]);
    await host.close();
    await rm(directory, { recursive: true });
  });

  it(promise('session.fork-active'), async () => {
    await start();
    await answer('s', '1');
    const running = await askIn('s', '2');
    const call = await agent.call(2);
    expect((await fork('s', { afterTurn: 1, session_id: 'f' })).status).toBe(201);
    call.finish();
    await running.whole();
    expect(await turnsOf('f')).toEqual(['Re: 1']);
    const shown = await get(host.url, '/query/sessions/f');
    expect(await shown.json()).toMatchObject({ active: null, waiting: 0 });
  });

  it(promise('session.fork-refused'), async () => {
    await start();
    await answer('s', '1');
    await answer('t', '1');
    const faults = async (body: unknown) => {
      const reply = await fork('s', body);
      const { code, errors } = await reply.json<{ code: string; errors?: { pointer: string }[] }>();
      return [reply.status, code, ...(errors ?? []).map(({ pointer }) => pointer)];
    };
    for (const body of [{}, [], null, 'x', { afterTurn: -1 }, { afterTurn: '1' }, { afterTurn: 2 }])
      expect(await faults(body)).toEqual([400, 'invalid_query', '/afterTurn']);
    for (const session_id of ['', 1, '..', '\ud800', 'x'.repeat(256)])
      expect(await faults({ session_id, afterTurn: 0 })).toEqual([400, 'invalid_query', '/session_id']);
    expect(await faults({ session_id: 1 })).toEqual([400, 'invalid_query', '/afterTurn', '/session_id']);
    for (const session_id of ['s', 't'])
      expect(await faults({ session_id, afterTurn: 1 })).toEqual([409, 'session_exists']);
    expect((await fork('unknown', { afterTurn: 0 })).status).toBe(404);
    expect((await fork('s', { afterTurn: 0 }, { 'x-caller': 'bob' })).status).toBe(404);
    const text = await fork('s', { afterTurn: 0 }, { 'content-type': 'text/plain' });
    expect(text.status).toBe(415);
    expect(await turnsOf('s')).toEqual(['Re: 1']);
  });

  it(promise('client.session-changes'), async () => {
    await start();
    const client = new AgentQueryClient({ baseUrl: host.url });
    const say = async (text: string, options: { sessionId: string; afterTurn?: number }) => {
      const count = agent.calls.length + 1;
      const asked = client.ask(text, options).text();
      const call = await agent.call(count);
      call.emit(message(`Re: ${text}`));
      call.finish();
      expect(await asked).toBe(`Re: ${text}`);
    };
    await say('1', { sessionId: 's' });
    expect(await client.fork('s', 1, { newId: 'f' })).toMatchObject({ id: 'f', turns: 1 });
    await say('one', { sessionId: 's', afterTurn: 0 });
    expect([await turnsOf('s'), await turnsOf('f')]).toEqual([['Re: one'], ['Re: 1']]);
    await expect(client.fork('s', 1, { newId: 'f' })).rejects.toMatchObject({ code: 'session_exists' });
    expect((await client.fork('s', 0)).turns).toBe(0);
  });
});
