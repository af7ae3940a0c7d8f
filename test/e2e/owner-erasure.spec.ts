import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file, message, type SessionRef, usage } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { promise } from '../promises.js';
import { askingRun } from '../support/asking.js';
import { ask, FULL, get, type Reply, request } from '../support/client.js';
import { mentionsIn, tablesWith } from '../support/database-text.js';
import { type Host, ONE_ADAPTER, startAgent } from '../support/host.js';
import { OperatorLog } from '../support/operator-log.js';
import { openDatabase, type TestDatabase } from '../support/postgres.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const SECRET = 'my-secret-words';
const ERASED = { runs: 0, sessions: 0, uploads: 0, usage: 0 };

describe.each(['memory', 'file', 'postgres'] as const)('Erased, in the store %s,', (kind) => {
  let directory: string;
  let database: TestDatabase | undefined;
  let agent: ScriptedAgent;
  let host: Host;
  let erased: SessionRef[];
  let called: number;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-erased-'));
    if (kind === 'postgres') database = await openDatabase();
    const url = { memory: 'memory:', file: `file:${join(directory, 'runs.db')}`, postgres: database?.url }[
      kind
    ]!;
    agent = new ScriptedAgent();
    erased = [];
    called = 0;
    const sessionErased = (session: SessionRef) => void erased.push(session);
    host = await startAgent(ONE_ADAPTER, Object.assign(agent.handler, { sessionErased }), {
      store: await openStore(url),
      spoolDirectory: join(directory, 'spool'),
      owner: (asked) => asked.headers['x-caller'] as string,
    });
  });
  afterEach(async () => {
    await host.close();
    await database?.close();
    database = undefined;
    await rm(directory, { recursive: true });
  });

  /** How often what was said in secret is on the disk, and in which tables. */
  const traces = async () => [
    await mentionsIn(directory, SECRET),
    ...(database ? await tablesWith(database.url, SECRET) : []),
  ];
  const as = (caller: string) => ({ 'x-caller': caller });
  const send = (method: string, path: string, caller: string) =>
    request(host.url, { method, path: `/query/${path}`, headers: as(caller) });
  const statusOf = async (asked: Promise<Reply>) => (await asked).status;
  /** Sends a query with a file, whose answer has a file too. */
  const answered = async (caller: string, session?: string, finishes = true) => {
    const parts = [
      { type: 'text', text: `${SECRET} ${'x'.repeat(100_000)}` },
      { type: 'file', name: `${SECRET}.txt`, mimeType: 'text/plain', base64: content(200_000) },
    ];
    const metadata = { about: SECRET };
    const body = JSON.stringify({ parts, metadata, kwargs: { session_id: session, note: SECRET } });
    const asked = await request(host.url, { headers: { ...FULL, ...as(caller) } }, body);
    if (asked.status !== 200) throw new Error(await asked.whole());
    const call = await agent.call(++called);
    call.emit(message(SECRET));
    call.emit(usage({ inputTokens: 1, outputTokens: 2, model: 'm' }));
    call.emit(
      file({ name: 'answer.txt', mimeType: 'text/plain', content: Buffer.from(content(300_000), 'base64') }),
    );
    await asked.until('answer.txt');
    if (finishes) {
      call.finish();
      await asked.whole();
    }
    return asked;
  };
  const content = (length: number) => Buffer.from(SECRET.padEnd(length, ' .')).toString('base64');
  const upload = (caller: string) =>
    request(
      host.url,
      { path: '/query/files?name=sent.txt', headers: { ...as(caller), 'content-type': 'text/plain' } },
      `${SECRET} sent before`,
    );

  it(promise('run.erase'), async () => {
    const { runId } = await answered('ann');
    if (kind !== 'memory') expect(await traces()).not.toEqual([0]);
    expect(await statusOf(send('DELETE', `${runId}?erase=perhaps`, 'ann'))).toBe(400);
    expect(await statusOf(send('DELETE', `${runId}?erase`, 'bob'))).toBe(404);
    expect(await statusOf(send('DELETE', `${runId}?erase=false`, 'ann'))).toBe(200);
    const reply = await send('DELETE', `${runId}?erase`, 'ann');
    expect([reply.status, await reply.whole()]).toEqual([204, '']);
    for (const method of ['GET', 'DELETE']) expect(await statusOf(send(method, runId, 'ann'))).toBe(404);
    expect(await statusOf(send('DELETE', `${runId}?erase`, 'ann'))).toBe(404);
    expect(await (await get(host.url, '/query', as('ann'))).json()).toEqual({ runs: [], next: null });
    await host.idle();
    expect(await traces()).toEqual([0]);
  });

  it(promise('run.erase', 'that executes: its followers are told of the end'), async () => {
    const asked = await answered('ann', undefined, false);
    expect(await statusOf(send('DELETE', `${asked.runId}?erase=true`, 'ann'))).toBe(204);
    expect((await asked.answer()).done).toEqual([{ status: 'cancelled' }]);
    expect(await statusOf(send('GET', asked.runId, 'ann'))).toBe(404);
    await host.idle();
    expect(await traces()).toEqual([0]);
  });

  it(promise('run.erase', 'not if it belongs to a session'), async () => {
    const { runId } = await answered('ann', 's');
    const reply = await send('DELETE', `${runId}?erase`, 'ann');
    expect(await reply.json()).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      code: 'invalid_query',
      detail: 'The run belongs to the session "s". Erase the session.',
    });
    expect(await statusOf(send('GET', runId, 'ann'))).toBe(200);
  });

  it(promise('owner.erase'), async () => {
    const log = OperatorLog.of(host.app);
    await answered('ann');
    await answered('ann', 's');
    const kept = await answered('bob', 's');
    expect(await statusOf(upload('ann'))).toBe(201);
    const streaming = await answered('ann', 's', false);
    const waiting = await ask(host.url, SECRET, { headers: as('ann'), kwargs: { session_id: 's' } });
    const asking = await askingRun(host, agent, undefined, {
      text: SECRET,
      session: 't',
      headers: as('ann'),
    });
    asking.answers.catch(() => undefined);

    expect(await host.agent.eraseOwner('ann')).toEqual({
      runs: 5,
      sessions: 2,
      uploads: 1,
      usage: 1,
    });
    for (const reply of [streaming, waiting, asking.asked])
      expect((await reply.answer()).done).toEqual([{ status: 'cancelled' }]);
    expect(erased.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
      { owner: 'ann', id: 's' },
      { owner: 'ann', id: 't' },
    ]);
    for (const path of ['/query', '/query/sessions', '/query/inputs', '/query/usage?from=2020-01-01'])
      expect(await (await get(host.url, path, as('ann'))).whole()).toMatch(/^\{"[a-z]+":\[\],"next":null/);
    await host.idle();
    expect(await host.agent.eraseOwner('ann')).toEqual(ERASED);

    expect((await get(host.url, '/query/sessions/s', as('bob'))).status).toBe(200);
    expect((await get(host.url, `/query/${kept.runId}`, as('bob'))).status).toBe(200);
    expect(await host.agent.eraseOwner('bob')).toEqual({
      runs: 1,
      sessions: 1,
      uploads: 0,
      usage: 1,
    });
    expect(await traces()).toEqual([0]);
    expect(log.lines.filter((line) => line.includes(SECRET))).toEqual([]);
  });
});
