import { jest } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DynamicModule, Injectable, Module } from '@nestjs/common';
import {
  AgentService,
  getAgentToken,
  InjectAgent,
  MemoryRunStore,
  message,
  QueryModule,
  type RunStore,
} from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { of } from 'rxjs';
import { promise } from '../promises.js';
import { answerOf, ask, FULL, get, request } from '../support/client.js';
import { type AdapterName, describeOnOneAdapter, type Host, startHost } from '../support/host.js';
import { STORE_KINDS } from '../support/long-form.js';
import { openDatabase, type TestDatabase } from '../support/postgres.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const RUNS = { drainMs: 0, stopDeadlineMs: 100, disconnect: 'continue' as const };
const DONE = 'data: {"type":"done","data":{"status":"completed"}}\n\n';
const says = (content: string) => `data: {"type":"message","data":{"content":"${content}"}}\n\n` + DONE;

@Injectable()
class Desk {
  constructor(
    readonly unnamed: AgentService,
    @InjectAgent() readonly same: AgentService,
    @InjectAgent('research') readonly research: AgentService,
    @InjectAgent('support') readonly support: AgentService,
  ) {}
}

describeOnOneAdapter('Modules with names in a host on %s', (adapter) => {
  it.each<[string, (isGlobal: boolean) => DynamicModule[]]>([
    [
      'forRoot',
      (isGlobal) =>
        [undefined, 'research', 'support'].map((name) =>
          QueryModule.forRoot({
            handler: tell(name),
            path: name ?? 'query',
            isGlobal,
            ...(name && { name }),
          }),
        ),
    ],
    [
      'forRootAsync',
      (isGlobal) =>
        [undefined, 'research', 'support'].map((name) =>
          QueryModule.forRootAsync({
            path: name ?? 'query',
            isGlobal,
            ...(name && { name }),
            useFactory: () => ({ handler: tell(name) }),
          }),
        ),
    ],
  ])(promise('module.names', 'are injected by their names: %s'), async (_, modules) => {
    for (const isGlobal of [false, true]) {
      @Module({ imports: isGlobal ? [] : modules(false), providers: [Desk], exports: [Desk] })
      class DeskModule {}
      @Module({ imports: [DeskModule, ...(isGlobal ? modules(true) : [])] })
      class OwnModule {}
      const host = await startHost(adapter, OwnModule);
      const { unnamed, same, research, support } = host.app.get(Desk, { strict: false });
      expect(same).toBe(unnamed);
      expect(new Set([unnamed, research, support]).size).toBe(3);
      expect(host.app.get(getAgentToken('research'), { strict: false })).toBe(research);
      for (const name of ['query', 'research', 'support']) {
        const answer = await ask(host.url, 'Hello', { path: `/${name}` });
        expect(await answer.whole()).toBe(says(name === 'query' ? 'undefined' : name));
      }
      const run = await ask(host.url, 'Hello', { path: '/research' });
      await run.whole();
      expect(await research.find('anonymous', run.runId)).toMatchObject({ status: 'completed' });
      await expect(unnamed.find('anonymous', run.runId)).rejects.toMatchObject({ code: 'not_found' });
      await host.close();
    }
  });
});

const tell = (name: string | undefined) => () => of(message(String(name)));

describe('A name of a module', () => {
  it.each(['', 'a b', 'x'.repeat(65), 'a\0b'])(promise('module.names', 'must be a name: %j'), (name) => {
    expect(() => QueryModule.forRoot({ handler: tell('a'), name })).toThrow(
      `QueryModule: the option "name" is ${JSON.stringify(name)}; it must have 1 to 64 letters, digits, "_", "-" or ".".`,
    );
  });
});

describe.each(STORE_KINDS)('Modules that share a store: %s', (kind) => {
  let directory: string;
  let postgres: TestDatabase | undefined;
  let store: RunStore;
  let agents: Record<'unnamed' | 'research' | 'support', ScriptedAgent>;
  let host: Host | undefined;

  beforeAll(async () => {
    if (kind === 'postgres') postgres = await openDatabase();
  });
  afterAll(() => postgres?.close());
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-names-'));
  });
  afterEach(async () => {
    await host?.close();
    host = undefined;
    await rm(directory, { recursive: true });
  });

  async function open(): Promise<RunStore> {
    if (kind === 'memory') return new MemoryRunStore();
    if (kind === 'file') return openStore(`file:${join(directory, 'runs.db')}`);
    const schema = directory.replace(/.*-/, 'names_').toLowerCase();
    return openStore(postgres!.url, { postgres: { schema }, leaseMs: 1_000 });
  }

  /** Starts a host whose modules share a store. */
  async function start(
    names: (keyof typeof agents)[] = ['unnamed', 'research', 'support'],
    options: { adapter?: AdapterName; maxRunning?: number } = {},
  ): Promise<Host> {
    store = await open();
    agents = { unnamed: new ScriptedAgent(), research: new ScriptedAgent(), support: new ScriptedAgent() };
    const owner = ({ headers }: { headers: Record<string, unknown> }) =>
      headers['x-owner'] as string | undefined;
    const runs = { ...RUNS, ...(options.maxRunning && { maxRunning: options.maxRunning }) };
    const modules = names.map((name) =>
      QueryModule.forRoot({
        ...(name !== 'unnamed' && { name }),
        path: name,
        handler: agents[name].handler,
        store,
        owner,
        runs,
      }),
    );
    @Module({ imports: modules })
    class OwnModule {}
    return (host = await startHost(options.adapter ?? 'express', OwnModule));
  }

  const askAs = (name: string, text: string, headers: Record<string, string> = {}, kwargs: object = {}) =>
    ask(host!.url, text, { path: `/${name}`, headers, kwargs });

  it(promise('module.shared-store', 'run ids, sessions and files'), async () => {
    await start();
    const file = { type: 'file', name: 'a.txt', mimeType: 'text/plain', base64: 'QUJD' };
    const body = JSON.stringify({ parts: [file], kwargs: { session_id: 's' } });
    const ofResearch = await request(host!.url, { path: '/research' }, body);
    const call = await agents.research.call(1);
    expect(call.context.owner).toBe('anonymous');
    call.emit(message('found'));
    call.finish();
    await ofResearch.whole();
    const ofSupport = await askAs('support', 'Hello', {}, { session_id: 's' });
    const second = await agents.support.call(1);
    expect(second.context).toMatchObject({ session: { id: 's' }, history: [] });
    await expect(
      second.context.session!.file('b5d4045c3f466fa91fe2cc6abe79232a1a57cdf104f7a26e716e0a1e2789df78'),
    ).rejects.toMatchObject({ code: 'not_found' });
    second.finish();
    await ofSupport.whole();

    for (const other of ['unnamed', 'support']) {
      const path = `/${other}/${ofResearch.runId}`;
      expect((await get(host!.url, path)).status).toBe(404);
      expect((await get(host!.url, path, FULL)).status).toBe(404);
      expect((await request(host!.url, { method: 'DELETE', path })).status).toBe(404);
    }
    for (const name of ['research', 'support', 'unnamed']) {
      const { runs } = await (await get(host!.url, `/${name}`)).json<{ runs: { id: string }[] }>();
      const { sessions } = await (await get(host!.url, `/${name}/sessions`)).json<{ sessions: unknown[] }>();
      const own = { research: [ofResearch.runId], support: [ofSupport.runId], unnamed: [] }[name];
      expect(runs.map(({ id }) => id)).toEqual(own);
      expect(sessions).toHaveLength(own!.length);
    }
    const turnsOf = async (name: string) => {
      const page = await get(host!.url, `/${name}/sessions/s`);
      return page.status === 200 ? (await page.json<{ turns: unknown[] }>()).turns.length : page.status;
    };
    expect([await turnsOf('research'), await turnsOf('support'), await turnsOf('unnamed')]).toEqual([
      1, 1, 404,
    ]);
    expect((await request(host!.url, { method: 'DELETE', path: '/support/sessions/s' })).status).toBe(204);
    expect([await turnsOf('research'), await turnsOf('support')]).toEqual([1, 404]);
    const third = await askAs('research', 'again', {}, { session_id: 's' });
    const { session, history } = (await agents.research.call(2)).context;
    expect(history).toHaveLength(1);
    const kept = await session!.file('b5d4045c3f466fa91fe2cc6abe79232a1a57cdf104f7a26e716e0a1e2789df78');
    expect(await kept.text()).toBe('ABC');
    (await agents.research.call(2)).finish();
    await third.whole();
  });

  it(
    promise('module.shared-store', 'idempotency keys, and owners that look like those of a module'),
    async () => {
      await start();
      const headers = { 'idempotency-key': 'k' };
      const first = await askAs('research', 'Hello', headers);
      (await agents.research.call(1)).finish();
      await first.whole();
      const other = await askAs('support', 'Another', headers);
      (await agents.support.call(1)).finish();
      await other.whole();
      expect(other.runId).not.toBe(first.runId);
      const again = await askAs('research', 'Hello', headers);
      expect([again.runId, agents.research.calls.length]).toEqual([first.runId, 1]);
      await again.whole();
      const agent = host!.app.get(AgentService, { strict: false });
      await expect(agent.find('\0research\0anonymous', first.runId)).rejects.toMatchObject({
        code: 'not_found',
      });
    },
  );

  it(promise('module.shared-store', 'queues and slots'), async () => {
    await start(['research', 'support'], { maxRunning: 1 });
    const first = await askAs('research', 'first', {}, { session_id: 's' });
    const queued = await askAs('research', 'queued', {}, { session_id: 's' });
    await agents.research.call(1);
    const beside = await askAs('support', 'beside', {}, { session_id: 's' });
    (await agents.support.call(1)).finish();
    expect(answerOf(await beside.whole()).done).toEqual([{ status: 'completed' }]);
    (await agents.research.call(1)).finish();
    (await agents.research.call(2)).finish();
    await Promise.all([first.whole(), queued.whole()]);
    expect(agents.research.calls.map(({ text }) => text)).toEqual(['first', 'queued']);
  });

  it(promise('module.shared-store', 'is closed once, when the last module has closed'), async () => {
    await start();
    const close = jest.spyOn(store, 'close');
    await host!.close();
    host = undefined;
    expect(close).toHaveBeenCalledTimes(1);
  });

  it(promise('module.shared-store', 'not by two modules of one name'), async () => {
    await expect(start(['research', 'research'])).rejects.toThrow(
      'QueryModule: Two modules with the name "research" have the same store. ' +
        'Give each a name of its own, or a store of its own.',
    );
    await store.close();
    await expect(start(['unnamed', 'unnamed'])).rejects.toThrow(
      'Two modules without a name have the same store.',
    );
    await store.close();
  });

  // The runs of a store in memory end with their process.
  if (kind === 'memory') return;

  it(
    promise('module.shared-store', 'after a restart, each module executes what it has admitted'),
    async () => {
      await start(['research', 'support', 'unnamed'], { maxRunning: 1 });
      for (const name of ['research', 'support', 'unnamed'] as const) {
        await askAs(name, 'running', { prefer: 'respond-async' });
        await agents[name].call(1);
      }
      const waiting: Record<string, string> = {};
      for (const name of ['research', 'support', 'unnamed'] as const) {
        const reply = await askAs(name, `waiting for ${name}`, { prefer: 'respond-async', 'x-owner': 'ann' });
        waiting[name] = (await reply.json<{ id: string }>()).id;
      }
      await host!.close();

      await start(['unnamed', 'support', 'research']);
      for (const name of ['research', 'support', 'unnamed'] as const) {
        const call = await agents[name].call(1);
        expect([call.text, call.context.runId, call.context.owner]).toEqual([
          `waiting for ${name}`,
          waiting[name],
          'ann',
        ]);
        call.finish();
        const followed = await get(host!.url, `/${name}/${waiting[name]}`, { ...FULL, 'x-owner': 'ann' });
        expect(answerOf(await followed.whole()).done).toEqual([{ status: 'completed' }]);
      }
      for (const { calls } of Object.values(agents)) expect(calls).toHaveLength(1);
    },
  );

  it(
    promise('module.shared-store', 'a run that waits for a module that is gone waits until it is back'),
    async () => {
      await start(['research', 'support'], { maxRunning: 1 });
      const prefer = { prefer: 'respond-async' };
      const running = await askAs('research', 'running', prefer);
      await agents.research.call(1);
      const waiting = await askAs('research', 'waiting', prefer, { session_id: 's' });
      const queued = await askAs('research', 'queued', prefer, { session_id: 's' });
      await host!.close();

      await start(['support']);
      await (await askAs('support', 'another', prefer)).whole();
      expect((await agents.support.call(1)).text).toBe('another');
      agents.support.calls[0]!.finish();
      await host!.close();
      expect(agents.support.calls).toHaveLength(1);

      await start(['research']);
      for (const number of [1, 2]) (await agents.research.call(number)).finish();
      expect(agents.research.calls.map(({ text }) => text)).toEqual(['waiting', 'queued']);
      for (const run of [waiting, queued]) {
        const { id } = await run.json<{ id: string }>();
        const followed = await get(host!.url, `/research/${id}`, FULL);
        expect(answerOf(await followed.whole()).done).toEqual([{ status: 'completed' }]);
      }
      const { id } = await running.json<{ id: string }>();
      const run = await get(host!.url, `/research/${id}`);
      expect(await run.json()).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    },
  );
});
