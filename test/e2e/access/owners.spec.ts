import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiKey } from '../../../src/access/index.js';
import { message } from '../../../src/index.js';
import { openStore } from '../../../src/stores/index.js';
import { promise } from '../../promises.js';
import { bearer, guarded, Issuer, SECRET, secretToken } from '../../support/access.js';
import { ask, FULL, get, type Reply, request } from '../../support/client.js';
import { type Host, ONE_ADAPTER, startHost } from '../../support/host.js';
import { IS_LONG, STORE_KINDS } from '../../support/long-form.js';
import { openDatabase, type TestDatabase } from '../../support/postgres.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

const UNKNOWN_RUN = '00000000-0000-4000-8000-000000000000';
const UNKNOWN_SHA256 = '0'.repeat(64);
const UNKNOWN_SESSION = 'unknown';

/** What a caller may have of another: a run, a session and a text that a page of the session shows cut. */
interface Belongings {
  runId: string;
  session: string;
  sha256: string;
}

interface Call {
  name: string;
  send(url: string, headers: OutgoingHttpHeaders, of: Belongings): Promise<Reply>;
}

/** The calls share connections: they are thousands, and none of them is about a connection. */
const connections = new Agent({ keepAlive: true });
afterAll(() => connections.destroy());

const call = (
  name: string,
  method: string,
  path: (of: Belongings) => string,
  more: (of: Belongings) => OutgoingHttpHeaders = () => ({}),
): Call => ({
  name,
  send: (url, headers, of) =>
    request(url, { method, path: path(of), headers: { ...headers, ...more(of) }, agent: connections }),
});

/** Every call that names a run, a session or a file. */
const CALLS: Call[] = [
  call('the run as JSON', 'GET', ({ runId }) => `/query/${runId}`),
  call(
    'follow',
    'GET',
    ({ runId }) => `/query/${runId}`,
    () => FULL,
  ),
  call(
    'follow after a cursor',
    'GET',
    ({ runId }) => `/query/${runId}?after=1`,
    () => FULL,
  ),
  call(
    'resume',
    'GET',
    ({ runId }) => `/query/${runId}`,
    ({ runId }) => ({ ...FULL, 'last-event-id': `${runId}.1` }),
  ),
  call('cancel', 'DELETE', ({ runId }) => `/query/${runId}`),
  call('erase the run', 'DELETE', ({ runId }) => `/query/${runId}?erase`),
  call('a file of the run', 'GET', ({ runId, sha256 }) => `/query/${runId}/files/${sha256}`),
  call(
    'a range of it',
    'GET',
    ({ runId, sha256 }) => `/query/${runId}/files/${sha256}`,
    () => ({ range: 'bytes=0-1' }),
  ),
  call('the session', 'GET', ({ session }) => `/query/sessions/${session}`),
  call('a page of the session', 'GET', ({ session }) => `/query/sessions/${session}?after=1&limit=1`),
  {
    name: 'fork the session',
    // More turns than the session has: its owner is refused in another way.
    send: (url, headers, { session }) =>
      request(
        url,
        { path: `/query/sessions/${session}/fork`, headers, agent: connections },
        JSON.stringify({ afterTurn: 99 }),
      ),
  },
  call('erase the session', 'DELETE', ({ session }) => `/query/sessions/${session}`),
  {
    name: 'resume by POST',
    send: (url, headers, { runId }) =>
      ask(url, 'x', { headers: { ...headers, 'last-event-id': `${runId}.1` }, agent: connections }),
  },
  {
    name: 'resume by POST with an idempotency key',
    send: (url, headers, { runId }) =>
      ask(url, 'x', {
        headers: { ...headers, 'last-event-id': `${runId}.0`, 'idempotency-key': 'same' },
        agent: connections,
      }),
  },
];

/** The lists, also with what they can be asked for. */
const LISTS: Call[] = [
  call('runs', 'GET', () => '/query?limit=500'),
  call('runs of the session', 'GET', ({ session }) => `/query?session=${session}`),
  call('completed runs', 'GET', () => '/query?status=completed'),
  call('running runs', 'GET', () => '/query?status=running'),
  call('sessions', 'GET', () => '/query/sessions'),
];

/** All that a caller can see of a response, without what differs by time. */
async function seen(reply: Reply): Promise<unknown> {
  return [reply.status, { ...reply.headers, date: undefined }, await reply.whole()];
}

describe.each(STORE_KINDS)('What belongs to another owner, with the store %s', (store) => {
  const [ann, bob] = [createApiKey('ann'), createApiKey('bob')];
  let issuers: Issuer[];
  let directory: string;
  let server: TestDatabase | undefined;
  let count = 0;
  let credentials: Record<string, OutgoingHttpHeaders>;
  let host: Host;
  let agent: ScriptedAgent;

  beforeAll(async () => {
    issuers = [await Issuer.start('https://a.example'), await Issuer.start('https://b.example')];
    directory = await mkdtemp(join(tmpdir(), 'access-owners-'));
    if (store === 'postgres') server = await openDatabase();
  });
  afterAll(async () => {
    await Promise.all(issuers.map((issuer) => issuer.close()));
    await server?.close();
    await rm(directory, { recursive: true });
  });

  /** Where a new store keeps its data. */
  function storeUrl(): string {
    const name = `test${++count}`;
    if (store === 'memory') return 'memory:';
    return store === 'file' ? `file:${directory}/${name}.db` : `${server!.url}?schema=${name}`;
  }

  beforeEach(async () => {
    agent = new ScriptedAgent();
    const access = {
      keys: [ann.configured, bob.configured],
      jwt: { jwksUrl: issuers[0]!.jwksUrl, secret: SECRET },
    };
    const module = guarded(agent.handler, access, undefined, await openStore(storeUrl()));
    host = await startHost(ONE_ADAPTER, module);
    credentials = {
      'the key of ann': bearer(ann.key),
      'the key of bob': { 'x-api-key': bob.key },
      'ann of one issuer': bearer(await issuers[0]!.token({ sub: 'ann' })),
      'ann of another issuer': bearer(await secretToken({ sub: 'ann', iss: 'https://b.example' })),
      'ann of no issuer': bearer(await secretToken({ sub: 'ann' })),
      'a subject that looks like a key': bearer(await secretToken({ sub: 'key:ann' })),
      'a subject with the separator': bearer(
        await secretToken({ sub: 'ann"]', iss: 'https://a.example","' }),
      ),
    };
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  /** Asks in a session, so that there is one ended run with a long answer, and one that runs. */
  async function askTwice(headers: OutgoingHttpHeaders): Promise<{ ended: Belongings; running: Reply }> {
    const session = 'the same session';
    const query = { headers, kwargs: { session_id: session } };
    const before = agent.calls.length;
    const asked = await ask(host.url, 'Hello', query);
    const first = await agent.call(before + 1);
    first.emit(message('x'.repeat(100 * 1024)));
    first.finish();
    await asked.whole();
    const page = await request(host.url, {
      method: 'GET',
      path: `/query/sessions/${encodeURIComponent(session)}`,
      headers,
    });
    const [{ sha256 }] = (await page.json<{ turns: [{ sha256: string }] }>()).turns;
    const running = await ask(host.url, 'Again', query);
    await agent.call(before + 2);
    return { ended: { runId: asked.runId, session: encodeURIComponent(session), sha256 }, running };
  }

  it(promise('access.isolation'), async () => {
    // The store gets owners as texts: those of all credentials are tried in memory.
    const owners = Object.entries(credentials).slice(0, IS_LONG || store === 'memory' ? undefined : 3);
    const unknown = { runId: UNKNOWN_RUN, session: UNKNOWN_SESSION, sha256: UNKNOWN_SHA256 };
    /** What each credential gets for each call where nothing exists. */
    const missingOf = new Map<string, unknown>();
    for (const [name, headers] of owners)
      for (const each of CALLS)
        missingOf.set(`${name}, ${each.name}`, await seen(await each.send(host.url, headers, unknown)));
    for (const [index, [name, headers]] of owners.entries()) {
      const { ended, running } = await askTwice(headers);
      const own = await Promise.all(
        CALLS.filter((each) => !/cancel|erase/.test(each.name)).map((each) =>
          each.send(host.url, headers, ended),
        ),
      );
      for (const reply of own) expect([name, reply.status]).not.toEqual([name, 404]);
      await Promise.all(own.map((reply) => reply.whole()));
      for (const each of LISTS) {
        const list = await (await each.send(host.url, headers, ended)).whole();
        expect([name, each.name, list.includes(ended.runId) || list.includes(running.runId)]).toEqual([
          name,
          each.name,
          true,
        ]);
      }

      const others = [...owners.slice(index + 1), ...owners.slice(0, index)];
      // Stores compare owners as they compare any texts, and that all are different is tested below: the next one stands for all.
      for (const [other, otherHeaders] of IS_LONG && store === 'memory' ? others : others.slice(0, 1)) {
        const compare = async (each: Call) => {
          const missing = missingOf.get(`${other}, ${each.name}`);
          expect([other, each.name, missing]).toEqual([
            other,
            each.name,
            [404, expect.anything(), expect.anything()],
          ]);
          for (const belonging of [ended, { ...ended, runId: running.runId }]) {
            const found = await seen(await each.send(host.url, otherHeaders, belonging));
            expect([name, other, each.name, found]).toEqual([name, other, each.name, missing]);
          }
        };
        await Promise.all(CALLS.map(compare));
        for (const each of LISTS) {
          const list = await each.send(host.url, otherHeaders, ended);
          expect([name, other, each.name, list.status]).toEqual([name, other, each.name, 200]);
          expect([other, each.name, await list.whole()]).toEqual([
            other,
            each.name,
            expect.stringMatching(/^\{"(runs|sessions)":\[\],"next":null\}$/),
          ]);
        }
      }
      const call = agent.calls.at(-1)!;
      expect(call.context.signal.aborted).toBe(false);
      call.finish();
      await running.whole();
      await host.idle();
      // So that the next owner has none of this session.
      expect(
        (await request(host.url, { method: 'DELETE', path: `/query/sessions/${ended.session}`, headers }))
          .status,
      ).toBe(204);
    }
  });

  it(promise('access.isolation', 'cursors of another owner'), async () => {
    const own = credentials['the key of ann']!;
    const { ended, running } = await askTwice(own);
    for (const path of ['/query', '/query/sessions']) {
      const page = await get(host.url, `${path}?limit=1`, own);
      const { next, ...list } = await page.json<{ next: string | null; runs?: object[] }>();
      expect(list.runs === undefined || next !== null).toBe(true);
      const cursor = next ?? Buffer.from('999999999999999.zzz').toString('base64url');
      const stolen = await get(host.url, `${path}?after=${cursor}`, credentials['the key of bob']);
      expect([stolen.status, Object.values(await stolen.json())]).toEqual([200, [[], null]]);
      expect(stolen.text).not.toContain(ended.runId);
    }
    agent.calls.at(-1)!.finish();
    await running.whole();
  });

  it(promise('access.isolation', 'ids that are guessed'), async () => {
    const { ended, running } = await askTwice(credentials['the key of ann']!);
    const runIds = [
      ' ',
      '..',
      '%00',
      `${ended.runId}%00`,
      ended.runId.toUpperCase(),
      `key:ann.${ended.runId}`,
      '%2e%2e',
    ];
    for (const runId of runIds) {
      const replies = await Promise.all(
        ['GET', 'DELETE'].map((method) =>
          request(host.url, {
            method,
            path: `/query/${encodeURI(runId).replaceAll('%25', '%')}`,
            headers: credentials['the key of bob']!,
          }),
        ),
      );
      for (const reply of replies) {
        expect([runId, reply.status]).toEqual([runId, 404]);
        expect(await reply.whole()).not.toContain('x'.repeat(10));
      }
    }
    agent.calls.at(-1)!.finish();
    await running.whole();
  });

  it(promise('access.isolation', 'files that were sent before their query'), async () => {
    const bytes = 'a file of one owner';
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const all = async (headers: OutgoingHttpHeaders, digest: string) => {
      const part = { type: 'file', name: 'a', mimeType: 'a/b', sha256: digest };
      const path = `/query/files/${digest}`;
      const asked = await request(host.url, { method: 'HEAD', path, headers, agent: connections });
      const query = JSON.stringify({ parts: [part] });
      return [await seen(asked), await seen(await request(host.url, { headers, agent: connections }, query))];
    };
    const send = (headers: OutgoingHttpHeaders) =>
      request(host.url, { path: '/query/files', headers, agent: connections }, bytes);
    const [own, ...others] = Object.values(credentials);
    expect((await send(own!)).status).toBe(201);
    for (const other of others) expect(await all(other, sha256)).toEqual(await all(other, UNKNOWN_SHA256));
    expect(agent.calls).toHaveLength(0);
    // Each owner has a file of its own after it has sent that.
    for (const [index, other] of others.entries()) {
      expect((await send(other)).status).toBe(201);
      const rest = others.slice(index + 1)[0];
      if (rest) expect(await all(rest, sha256)).toEqual(await all(rest, UNKNOWN_SHA256));
    }
  });

  it(promise('access.idempotency'), async () => {
    const asked: Reply[] = [];
    for (const headers of Object.values(credentials))
      asked.push(await ask(host.url, 'Hello', { headers: { ...headers, 'idempotency-key': 'same' } }));
    const count = Object.keys(credentials).length;
    expect(new Set(asked.map(({ runId }) => runId)).size).toBe(count);
    await agent.call(count);
    expect(agent.calls).toHaveLength(count);
    expect(new Set(agent.calls.map(({ context }) => context.owner))).toEqual(
      new Set([
        'key:ann',
        'key:bob',
        'jwt:["https://a.example","ann"]',
        'jwt:["https://b.example","ann"]',
        'jwt:[null,"ann"]',
        'jwt:[null,"key:ann"]',
        'jwt:["https://a.example\\",\\"","ann\\"]"]',
      ]),
    );
    for (const call of agent.calls) call.finish();
    await Promise.all(asked.map((reply) => reply.whole()));
  });
});
