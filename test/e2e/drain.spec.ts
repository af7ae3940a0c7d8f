import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import {
  AgentService,
  file,
  type HandlerFunction,
  message,
  QueryModule,
  type QueryModuleOptions,
} from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, envelopesOf, FULL, request } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { freePort } from '../support/free-port.mjs';
import { holdHalfRequests } from '../support/half-requests.js';
import { type AdapterName, adapterNamed, describeOnOneAdapter } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { SlowRunStore, ticks } from '../support/slow-run-store.js';

/** A host with default settings: its connections are not forced to close. */
async function start(adapter: AdapterName, options: QueryModuleOptions, address = '127.0.0.1') {
  @Module({ imports: [QueryModule.forRoot(options)] })
  class HostModule {}
  const app = await NestFactory.create(HostModule, adapterNamed(adapter), { logger: false });
  await app.listen(0, address);
  return { app, url: await app.getUrl(), agent: app.get(AgentService, { strict: false }) };
}

/** The first hook of a shutdown in which a host may wait without holding the port. */
const FIRST_HOOK =
  'beforeClose' in ExpressAdapter.prototype ? 'onModuleDestroy' : 'beforeApplicationShutdown';

/** A host in a process of its own. */
function startProcess(adapter: AdapterName, port: number) {
  const program = join(import.meta.dirname, '../support/port-host.mjs');
  const child = spawn(process.execPath, [program, adapter, String(port)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const end = once(child, 'exit').then(([code, signal]: unknown[]) => signal ?? code);
  const ended = end.then((how) => Promise.reject(new Error(`The host has ended: ${String(how)}`)));
  const url = Promise.race([once(child.stdout, 'data').then(([line]) => String(line).trim()), ended]);
  ended.catch(() => undefined);
  return { process: child, url, end };
}

describeOnOneAdapter('A host that closes, on %s', (adapter) => {
  const runsOf = (drainMs: number) => ({ drainMs, stopDeadlineMs: 50 });

  it(promise('drain.order'), async () => {
    const scripted = new ScriptedAgent();
    const { app, url } = await start(adapter, { handler: scripted.handler });
    const kwargs = { session_id: 's' };
    const asked = await ask(url, '1', { kwargs });
    const queued = await ask(url, '2', { kwargs });
    const call = await scripted.call(1);
    const agents = [0, 1].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
    for (const agent of agents) await (await request(url, { method: 'GET', agent })).whole();
    let isClosed = false;
    const closing = app.close().then(() => (isClosed = true));

    const refusal = await ask(url, '3', { agent: agents[0]! });
    expect(refusal.status).toBe(503);
    expect(refusal.headers['retry-after']).toBe('1');
    expect(await refusal.json()).toMatchObject({ code: 'draining' });
    const path = `/query/${asked.runId}`;
    const follower = await request(url, { method: 'GET', path, agent: agents[1]!, headers: FULL });
    expect(follower.status).toBe(200);

    call.emit(message('a'));
    call.finish();
    (await scripted.call(2)).finish();
    for (const connection of [asked, follower]) {
      expect(await connection.answer()).toEqual({ text: 'a', done: [{ status: 'completed' }] });
    }
    expect((await queued.answer()).done).toEqual([{ status: 'completed' }]);
    expect(isClosed).toBe(false);
    await closing;
    for (const agent of agents) agent.destroy();
  });

  it.each(['127.0.0.1', 'localhost'])(promise('drain.port', 'on %s'), async (address) => {
    const scripted = new ScriptedAgent();
    const { app, url } = await start(adapter, { handler: scripted.handler }, address);
    const asked = await ask(url);
    const call = await scripted.call(1);
    const closing = app.close();
    await eventually(() => !(app.getHttpServer() as Server).listening);
    const next = createServer().listen(Number(new URL(url).port), address);
    await once(next, 'listening');
    call.finish();
    expect((await asked.answer()).done).toEqual([{ status: 'completed' }]);
    await closing;
    next.close();
  });

  it(promise('drain.port', 'while a hook of the host waits'), async () => {
    let release!: () => void;
    const waiting = new Promise<void>((resolve) => (release = resolve));
    @Module({ imports: [QueryModule.forRoot({ handler: new ScriptedAgent().handler })] })
    class HostModule {
      [FIRST_HOOK]() {
        return waiting;
      }
    }
    const app = await NestFactory.create(HostModule, adapterNamed(adapter), { logger: false });
    await app.listen(0, 'localhost');
    const port = Number(new URL(await app.getUrl()).port);
    const closing = app.close();
    await eventually(() => !(app.getHttpServer() as Server).listening);
    const next = createServer().listen(port, 'localhost');
    await once(next, 'listening');
    release();
    await closing;
    next.close();
  });

  it(promise('drain.port', 'to another process, as with nest start --watch'), async () => {
    const old = startProcess(adapter, await freePort());
    const url = await old.url;
    const asked = await ask(url, 'Hello', { headers: FULL });
    await asked.until('begun');
    old.process.kill('SIGTERM');
    const next = startProcess(adapter, Number(new URL(url).port));
    expect(await next.url).toBe(url);
    const again = await ask(url, 'Hello', { headers: FULL });
    for (const { process } of [old, next]) process.stdin.end('\n');
    for (const { answer } of [asked, again].map((each) => ({ answer: each.answer() })))
      expect(await answer).toEqual({ text: 'begun and ended', done: [{ status: 'completed' }] });
    next.process.kill('SIGTERM');
    expect(await Promise.all([old.end, next.end])).toEqual(['SIGTERM', 'SIGTERM']);
  });

  it(promise('drain.interrupted'), async () => {
    const scripted = new ScriptedAgent();
    const ignoring = new ScriptedAgent(true);
    const handler: HandlerFunction = (query, context) =>
      (query.kwargs['ignoring'] ? ignoring : scripted).handler(query, context);
    const { app, url, agent } = await start(adapter, { handler, runs: runsOf(30) });
    const kwargs = { session_id: 's' };
    const asked = [
      await ask(url, '1', { kwargs }),
      await ask(url, '2', { kwargs }),
      await ask(url, '3', { kwargs: { ignoring: true } }),
    ];
    const call = await scripted.call(1);
    await ignoring.call(1);
    await app.close();
    await call.stopped;
    expect(call.context.signal.aborted).toBe(true);
    expect(scripted.calls).toHaveLength(1);
    for (const connection of asked) {
      expect((await connection.answer()).done).toEqual([
        {
          status: 'failed',
          error: {
            code: 'interrupted',
            message: 'The service stopped before the run had ended. Send the query again.',
          },
        },
      ]);
    }
    expect(agent.load()).toEqual({ running: 0, waiting: 0, asking: 0, followers: 0, overdue: 1 });
    ignoring.calls[0]!.finish();
    await eventually(() => agent.load().overdue === 0);
  });

  it(promise('drain.handed-over'), async () => {
    const scripted = new ScriptedAgent();
    const store = new SlowRunStore(() => 1, true);
    const runs = { ...runsOf(30), disconnect: 'cancel' as const };
    const { app, url, agent } = await start(adapter, { handler: scripted.handler, store, runs });
    const kwargs = { session_id: 's' };
    const first = await ask(url, '1', { headers: FULL, kwargs });
    const queued = await ask(url, '2', { headers: FULL, kwargs });
    await scripted.call(1);
    await queued.until('ahead.');
    await app.close();
    expect((await first.answer()).done).toMatchObject([{ status: 'failed', error: { code: 'interrupted' } }]);
    const stream = await queued.whole();
    expect(stream.endsWith('"}}\n\nretry: 1000\n')).toBe(true);
    expect(envelopesOf(stream)).toEqual([
      { type: 'log', data: { message: 'Waiting in the queue of the session: 1 ahead.' } },
    ]);

    expect(await store.find('anonymous', queued.runId)).toMatchObject({ status: 'waiting' });
    expect(scripted.calls).toHaveLength(1);
    expect(agent.load()).toEqual({ running: 0, waiting: 0, asking: 0, followers: 0, overdue: 0 });
  });

  it(promise('drain.stalled-client'), async () => {
    let emitted = 0;
    const handler: HandlerFunction = async function* ({ kwargs }) {
      if (kwargs['large']) {
        yield file({ content: Buffer.alloc(20_000_000) });
        return;
      }
      for (;;) yield { type: 'x', data: [++emitted, 'x'.repeat(1024)] };
    };
    const { app, url, agent } = await start(adapter, { handler, runs: runsOf(30) });
    const large = await ask(url, 'Hello', { kwargs: { large: true } });
    const [first] = await large.allEnvelopes();
    const { sha256 } = first!.data as { sha256: string };
    expect(sha256).toHaveLength(64);
    const held = await holdHalfRequests(url, `/query/${large.runId}/files/${sha256}`);
    const closed = held.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    const stalled = await ask(url, 'Hello', { headers: FULL, isStalled: true });
    for (let before = -1; emitted !== before; await ticks(1000)) before = emitted;
    await app.close();
    expect(agent.load()).toEqual({ running: 0, waiting: 0, asking: 0, followers: 0, overdue: 0 });
    // The chunked coding has no end, so that a client knows that the stream was cut.
    await expect(stalled.whole()).rejects.toThrow('The response was cut after');
    for (const socket of held) socket.destroy();
    await Promise.all(closed);
  });

  it(promise('drain.twice'), async () => {
    const { app, agent } = await start(adapter, { handler: new ScriptedAgent().handler });
    await Promise.all([agent.onModuleDestroy(), agent.onModuleDestroy()]);
    await app.close();
  });
});
