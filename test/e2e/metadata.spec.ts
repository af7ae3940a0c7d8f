import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentQueryClient, type RunView } from 'nest-agent-query-client';
import { MemoryRunStore, message, type Query, type RunStore } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { promise } from '../promises.js';
import { ask, get } from '../support/client.js';
import { describeOnOneAdapter, type Host, ONE_ADAPTER, startAgent } from '../support/host.js';
import { STORE_KINDS, type StoreKind } from '../support/long-form.js';
import { openDatabase, type TestDatabase } from '../support/postgres.js';

let postgres: TestDatabase;
let directory: string;
let host: Host;
let queries: Query[];

beforeAll(async () => {
  postgres = await openDatabase();
  directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-metadata-'));
});
afterAll(async () => {
  await postgres.close();
  await rm(directory, { recursive: true });
});

async function start(adapter: typeof ONE_ADAPTER, store: RunStore): Promise<void> {
  queries = [];
  const handler = async function* (query: Query) {
    queries.push(query);
    yield message('Hi');
  };
  host = await startAgent(adapter, handler, {
    store,
    owner: (request: { headers: Record<string, string> }) => request.headers['x-caller'],
  });
}

async function stop(): Promise<void> {
  await host.idle();
  await host.close();
}

const ANN = { 'x-caller': 'ann' };
const answer = async (metadata: object, caller = 'ann') => {
  const reply = await ask(host.url, 'Hello', { headers: { 'x-caller': caller }, metadata });
  await reply.whole();
  return reply.runId;
};
const list = async (parameters: string, caller = 'ann') =>
  (await get(host.url, `/query?${parameters}`, { 'x-caller': caller })).json<{
    runs: RunView[];
    next: string | null;
  }>();
const idsOf = async (parameters: string, caller?: string) =>
  (await list(parameters, caller)).runs.map(({ id }) => id).sort();

const STORES: Record<StoreKind, () => Promise<RunStore>> = {
  memory: async () => new MemoryRunStore(),
  file: () => openStore(`file:${join(directory, 'metadata.db')}`),
  postgres: () => openStore(`${postgres.url}?schema=metadata`),
};

describe.each(STORE_KINDS)('The metadata of queries, with the store %s', (kind) => {
  beforeEach(async () => start(ONE_ADAPTER, await STORES[kind]()));
  afterEach(stop);

  it(promise('metadata.list', 'and none of another owner'), async () => {
    const both = await answer({ team: 'sales', 'a.b[c] é': '1 & 2' });
    const one = await answer({ team: 'sales' });
    const other = await answer({ team: 'support', __proto__: 'x' });
    await answer({ team: 'sales' }, 'bob');
    expect(await idsOf('metadata.team=sales')).toEqual([both, one].sort());
    expect(await idsOf('metadata.team=sales&metadata.a.b%5Bc%5D%20%C3%A9=1%20%26%202')).toEqual([both]);
    expect(await idsOf('metadata.team=support&status=completed')).toEqual([other]);
    expect(await idsOf('metadata.team=support&status=failed')).toEqual([]);
    expect(await idsOf('metadata.Team=sales')).toEqual([]);
    expect(await idsOf('metadata.team=sales', 'carl')).toEqual([]);
    const { runs, next } = await list('metadata.team=sales&limit=1');
    await answer({ team: 'sales' });
    const rest = await list(`metadata.team=sales&limit=1&after=${next}`);
    expect([...runs, ...rest.runs].map(({ id }) => id).sort()).toEqual([both, one].sort());
    expect(rest.next).toBeNull();
    const client = new AgentQueryClient({ baseUrl: host.url, headers: ANN });
    expect((await client.runs({ metadata: { team: 'support' } })).runs).toMatchObject([{ id: other }]);
    expect((await host.agent.runs('ann', { metadata: { team: 'support' } })).runs).toMatchObject([
      { id: other },
    ]);
  });

  it(promise('metadata.run'), async () => {
    const metadata = { team: 'sales', note: '\0"é\ud83d\ude00' };
    const id = await answer(metadata);
    const plain = await answer({});
    const shown = await (await get(host.url, `/query/${id}`, ANN)).json<RunView>();
    expect(shown).toMatchObject({ id, events: 2, metadata });
    expect(await (await get(host.url, `/query/${plain}`, ANN)).json()).not.toHaveProperty('metadata');
    expect((await list('')).runs.find((run) => run.id === id)).toEqual(shown);
    expect(queries[0]).toMatchObject({ kwargs: {}, metadata });
  });
});

describeOnOneAdapter('Metadata that breaks a rule, on %s', (adapter) => {
  beforeEach(() => start(adapter, new MemoryRunStore()));
  afterEach(stop);

  it(promise('metadata.limits', 'with the other faults of the body'), async () => {
    const refused = await ask(host.url, 'Hello', {
      metadata: { 'a/b~': 1, ['k'.repeat(65)]: 'v', '': 'v', long: 'v'.repeat(513), ok: 'v'.repeat(512) },
      kwargs: { session_id: 7 },
    });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      {
        code: 'invalid_query',
        errors: [
          { pointer: '/metadata/a~1b~0', detail: 'must be a string' },
          { pointer: `/metadata/${'k'.repeat(65)}`, detail: 'must have a key of 1 to 64 characters' },
          { pointer: '/metadata/', detail: 'must have a key of 1 to 64 characters' },
          { pointer: '/metadata/long', detail: 'must have at most 512 characters' },
          { pointer: '/kwargs/session_id', detail: 'must be a string' },
        ],
      },
    ]);
    const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [i, 'v']));
    const many = await ask(host.url, 'Hello', { metadata: entries(17) });
    expect((await many.json<{ errors: object[] }>()).errors).toEqual([
      { pointer: '/metadata', detail: 'must have at most 16 keys' },
    ]);
    for (const metadata of [[], 'text'] as object[])
      expect((await ask(host.url, 'Hello', { metadata })).status).toBe(400);
    for (const metadata of [entries(16), null as unknown as object])
      expect((await ask(host.url, 'Hello', { metadata })).status).toBe(200);
  });

  it(promise('metadata.limits', 'also in the parameters of a list'), async () => {
    for (const parameters of ['metadata.a=1&metadata.a=2', `metadata.a=${'v'.repeat(513)}`, 'metadata.=a']) {
      const refused = await get(host.url, `/query?${parameters}`);
      expect([refused.status, await refused.json()]).toMatchObject([
        400,
        { code: 'invalid_query', errors: [{ pointer: '/metadata' }] },
      ]);
    }
  });

  it(promise('metadata.list', 'whatever the names are'), async () => {
    const names = ['constructor', '__proto__', 'prototype', 'toString', 'then', 'limit'];
    const ids: string[] = [];
    for (const name of names) ids.push(await answer(JSON.parse(`{"${name}":"x"}`) as object));
    for (const [index, name] of names.entries()) {
      expect(await idsOf(`metadata.${name}=x`)).toEqual([ids[index]]);
      expect(await idsOf(`metadata.${name}=y`)).toEqual([]);
    }
  });
});
