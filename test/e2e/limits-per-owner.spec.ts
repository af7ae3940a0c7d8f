import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryRunStore, type RunOptions } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { promise } from '../promises.js';
import { ask, type Reply, request } from '../support/client.js';
import { eventually, eventuallyElsewhere } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, ONE_ADAPTER, startAgent } from '../support/host.js';
import { STORE_KINDS } from '../support/long-form.js';
import { openDatabase, type TestDatabase } from '../support/postgres.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const KIB = 1024;

let postgres: TestDatabase;
beforeAll(async () => {
  postgres = await openDatabase();
});
afterAll(() => postgres.close());

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-owners-'));
});
afterEach(() => rm(directory, { recursive: true }));

const owner = ({ headers }: { headers: Record<string, unknown> }) => headers['x-owner'] as string;

async function expectRefusal(reply: Reply, detail: string): Promise<void> {
  expect(reply.status).toBe(429);
  expect(reply.headers['content-type']).toBe('application/problem+json');
  expect(reply.headers['retry-after']).toBe('5');
  expect(await reply.json()).toMatchObject({ code: 'rate_limited', status: 429, detail });
}

/** Cancels a run of ann. */
async function cancelOf(url: string, reply: Reply): Promise<void> {
  const path = `/query/${reply.runId}`;
  await (await request(url, { method: 'DELETE', path, headers: { 'x-owner': 'ann' } })).whole();
  await reply.whole();
}

describe.each(STORE_KINDS)('Limits per owner, with the store %s', (kind) => {
  let host: Host;
  let agent: ScriptedAgent;
  /** How many calls were told to finish. */
  let finished: number;

  const start = async (runs: Partial<RunOptions>) => {
    agent = new ScriptedAgent();
    finished = 0;
    const schema = directory.replace(/.*-/, 'owners_').toLowerCase();
    const url = kind === 'file' ? `file:${join(directory, 'runs.db')}` : postgres.url;
    const store = kind === 'memory' ? new MemoryRunStore() : await openStore(url, { postgres: { schema } });
    host = await startAgent(ONE_ADAPTER, agent.handler, { store, owner, runs });
  };
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  const askAs = (name: string, text: string, options: { kwargs?: object } = {}) =>
    ask(host.url, text, { ...options, headers: { 'x-owner': name } });
  /** Lets the next calls of the handler finish, one for each of these responses. */
  const finishAll = async (replies: Reply[]) => {
    for (let i = 0; i < replies.length; i++) (await agent.call(++finished)).finish();
    await Promise.all(replies.map((reply) => reply.whole()));
  };

  it(promise('owners.running'), async () => {
    await start({ maxRunningPerOwner: 2 });
    const replies = [await askAs('ann', '1'), await askAs('ann', '2'), await askAs('ann', '3')];
    replies.push(await askAs('bob', '4'));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await agent.call(3);
    expect(agent.calls.map(({ text }) => text).toSorted()).toEqual(['1', '2', '4']);
    expect(host.agent.load()).toMatchObject({ running: 3, waiting: 1 });
    await replies[2]!.until('Waiting: 2 of your queries are executing, which is the limit.');
    agent.calls.find(({ text }) => text === '2')!.finish();
    expect((await agent.call(4)).text).toBe('3');
    for (const call of agent.calls) if (call.text !== '2') call.finish();
    for (const reply of replies) expect((await reply.answer()).done).toEqual([{ status: 'completed' }]);
  });

  it(promise('owners.running', 'also for queries of sessions, and after a cancel'), async () => {
    await start({ maxRunningPerOwner: 1 });
    const kwargs = { session_id: 's' };
    const first = await askAs('ann', '1', { kwargs });
    const behind = await askAs('ann', '2', { kwargs });
    const deferred = await askAs('ann', '3');
    await agent.call(1);
    await cancelOf(host.url, first);
    expect((await agent.call(2)).text).toBe('3');
    agent.calls[1]!.finish();
    expect((await agent.call(3)).text).toBe('2');
    agent.calls[2]!.finish();
    await Promise.all([behind.whole(), deferred.whole()]);
  });

  it(promise('owners.waiting'), async () => {
    await start({ maxRunningPerOwner: 1, maxWaitingPerOwner: 1 });
    const replies = [await askAs('ann', '1'), await askAs('ann', '2')];
    const detail =
      '1 of your queries are waiting, which is the limit for one caller. Send this one when another one has started.';
    await expectRefusal(await askAs('ann', '3'), detail);
    await expectRefusal(await askAs('ann', '3', { kwargs: { session_id: 's' } }), detail);
    replies.push(await askAs('bob', '4'), await askAs('bob', '5'));
    await finishAll(replies);
    await finishAll([await askAs('ann', '6')]);
  });

  it(promise('owners.waiting', 'where none may wait'), async () => {
    await start({ maxRunningPerOwner: 1, maxWaitingPerOwner: 0 });
    const first = await askAs('ann', '1');
    const detail =
      'This query cannot start at once, and none of your queries may wait. Send it when another one of yours has ended.';
    await expectRefusal(await askAs('ann', '2'), detail);
    await finishAll([first]);
    await finishAll([await askAs('ann', '3')]);
  });

  it(promise('owners.turns'), async () => {
    await start({ maxRunning: 1 });
    const replies: Reply[] = [];
    for (let i = 0; i < 20; i++) replies.push(await askAs('ann', `a${i}`));
    replies.push(await askAs('bob', 'b'));
    await finishAll(replies.slice(0, 2));
    await agent.call(3);
    expect(agent.calls.map(({ text }) => text)).toEqual(['a0', 'a1', 'b']);
    await finishAll(replies.slice(2));
  });
});

describeOnOneAdapter('The bytes of files of an owner in transit, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, {
      owner,
      limits: { filesBytesPerOwner: 200 * KIB, memoryBytes: 10 * KIB },
      runs: { maxRunning: 1, disconnect: 'cancel' },
    });
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  const query = (kib: number) => {
    const base64 = Buffer.alloc(kib * KIB, 'x').toString('base64');
    const file = { type: 'file', name: 'a.txt', mimeType: 'text/plain', base64 };
    return JSON.stringify({ parts: [{ type: 'text', text: 'Hello' }, file] });
  };
  const send = (name: string, body: string) => request(host.url, { headers: { 'x-owner': name } }, body);
  const detail =
    `The files of your queries that have not ended are larger than ${200 * KIB} bytes together, which is the limit ` +
    'for one caller. Send this query when another one has ended.';
  /** Checks that the owner has no bytes in transit. */
  const expectNothingInTransit = async () => {
    const calls = agent.calls.length;
    const reply = await send('ann', query(200));
    expect(reply.status).toBe(200);
    (await agent.call(calls + 1)).finish();
    await reply.whole();
  };

  it(promise('owners.files'), async () => {
    const first = await send('ann', query(150));
    await expectRefusal(await send('ann', query(60)), detail);
    const others = [await send('ann', query(50)), await send('bob', query(150))];
    await expectRefusal(await send('ann', query(1)), detail);
    for (const count of [1, 2, 3]) (await agent.call(count)).finish();
    for (const reply of [first, ...others]) expect((await reply.answer()).done).toHaveLength(1);
    await expectNothingInTransit();
  });

  it(promise('owners.files', 'whatever ends the query'), async () => {
    await expectRefusal(await send('ann', query(201)), detail);
    expect((await send('ann', query(200).replace('"text":"Hello"', '"text":1'))).status).toBe(400);
    expect((await send('ann', query(200).slice(0, -1))).status).toBe(400);
    // A run that is cancelled while it executes, and one while it waits.
    const running = await send('ann', query(100));
    const waiting = await send('ann', query(100));
    await cancelOf(host.url, waiting);
    await cancelOf(host.url, running);
    await expectNothingInTransit();
  });

  it(promise('owners.files', 'also when the connection is cut in the middle of a file'), async () => {
    const socket = net.connect(Number(new URL(host.url).port), '127.0.0.1');
    const body = query(200);
    socket.write(
      'POST /query HTTP/1.1\r\nHost: a\r\nX-Owner: ann\r\nContent-Type: application/json\r\n' +
        `Content-Length: ${body.length}\r\n\r\n${body.slice(0, body.length / 2)}`,
    );
    await eventually(async () => (await tryOnce()) === 429);
    socket.destroy();
    await eventually(async () => (await tryOnce()) === 200);
  });

  const tryOnce = async () => {
    const calls = agent.calls.length;
    const reply = await send('ann', query(200));
    if (reply.status === 200) (await agent.call(calls + 1)).finish();
    await reply.whole();
    return reply.status;
  };
});

describeOnOneAdapter('The bytes of files of an owner in transit, in two processes, on %s', (adapter) => {
  let hosts: Host[];
  let agents: ScriptedAgent[];
  beforeEach(async () => {
    const schema = directory.replace(/.*-/, 'uploads_').toLowerCase();
    agents = [new ScriptedAgent(), new ScriptedAgent()];
    hosts = [];
    for (const agent of agents) {
      const store = await openStore(postgres.url, { postgres: { schema } });
      const limits = { filesBytesPerOwner: 200 * KIB };
      hosts.push(await startAgent(adapter, agent.handler, { store, owner, limits }));
    }
  });
  afterEach(async () => {
    for (const host of hosts) {
      await host.idle();
      await host.close();
    }
  });

  const send = (process: number, name: string, kib: number) => {
    const base64 = Buffer.alloc(kib * KIB, 'x').toString('base64');
    const body = JSON.stringify({ parts: [{ type: 'file', name: 'a.txt', mimeType: 'text/plain', base64 }] });
    return request(hosts[process]!.url, { headers: { 'x-owner': name } }, body);
  };

  it(promise('owners.files', 'over all processes'), async () => {
    const first = await send(0, 'ann', 150);
    await expectRefusal(
      await send(1, 'ann', 60),
      `The files of your queries that have not ended are larger than ${200 * KIB} bytes together, which is the limit for ` +
        'one caller. Send this query when another one has ended.',
    );
    const other = await send(1, 'bob', 150);
    (await agents[0]!.call(1)).finish();
    (await agents[1]!.call(1)).finish();
    for (const reply of [first, other]) expect((await reply.answer()).done).toHaveLength(1);
    await eventuallyElsewhere(async () => {
      const reply = await send(1, 'ann', 200);
      if (reply.status === 200) (await agents[1]!.call(2)).finish();
      await reply.whole();
      return reply.status === 200;
    });
  });
});
