import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  AgentService,
  type HandlerFunction,
  message,
  QueryModule,
  type QueryModuleOptions,
} from '../../src/index.js';
import { answerOf, Connection, FULL, post } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { ADAPTERS, type AdapterName } from '../support/host.js';
import { Puppet } from '../support/puppet.js';
import { SlowRunStore, turns } from '../support/slow-run-store.js';

/** A host as people write it: nobody closes its connections for it. */
async function start(adapter: AdapterName, options: QueryModuleOptions) {
  @Module({ imports: [QueryModule.forRoot(options)] })
  class HostModule {}
  const app = await NestFactory.create(
    HostModule,
    adapter === 'express' ? new ExpressAdapter() : new FastifyAdapter(),
    { logger: false },
  );
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl(), agent: app.get(AgentService, { strict: false }) };
}

describe.each(ADAPTERS)('A service that goes down, on %s', (adapter) => {
  const runsOf = (drainMs: number) => ({ drainMs, stopDeadlineMs: 50 });

  it('takes no new query, lets those that it has end, and then closes', async () => {
    const puppet = new Puppet();
    const { app, url } = await start(adapter, { handler: puppet.handler });
    const kwargs = { session_id: 's' };
    const asked = await Connection.post(url, '1', {}, kwargs);
    const queued = await Connection.post(url, '2', {}, kwargs);
    const call = await puppet.call(1);
    let isClosed = false;
    const closing = app.close().then(() => (isClosed = true));

    const refusal = await post(url, '3');
    expect(refusal.status).toBe(503);
    expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refusal.json()).toMatchObject({ code: 'draining' });
    const follower = await Connection.open(`${url}/query/${asked.runId}`, { headers: FULL });
    expect(follower.status).toBe(200);

    call.emit(message('a'));
    call.finish();
    (await puppet.call(2)).finish();
    for (const connection of [asked, follower]) {
      const stream = (await connection.readBytes()).toString();
      expect(answerOf(stream)).toEqual({ text: 'a', done: [{ status: 'completed' }] });
    }
    expect(answerOf((await queued.readBytes()).toString()).done).toEqual([{ status: 'completed' }]);
    expect(isClosed).toBe(false);
    await closing;
    await expect(post(url, '4')).rejects.toThrow();
  });

  it('ends what goes on when its time is over, and says why', async () => {
    const puppet = new Puppet();
    const deaf = new Puppet(true);
    const handler: HandlerFunction = (query, context) =>
      (query.kwargs['deaf'] ? deaf : puppet).handler(query, context);
    const { app, url, agent } = await start(adapter, { handler, runs: runsOf(30) });
    const kwargs = { session_id: 's' };
    const asked = [
      await Connection.post(url, '1', {}, kwargs),
      await Connection.post(url, '2', {}, kwargs),
      await Connection.post(url, '3', {}, { deaf: true }),
    ];
    const call = await puppet.call(1);
    await deaf.call(1);
    await app.close();
    await call.stopped;
    expect(call.context.signal.aborted).toBe(true);
    expect(puppet.calls).toHaveLength(1);
    for (const connection of asked) {
      expect(answerOf((await connection.readBytes()).toString()).done).toEqual([
        {
          status: 'failed',
          error: {
            code: 'interrupted',
            message: 'The service went down before the run had ended. Send the query again.',
          },
        },
      ]);
    }
    expect(agent.load()).toEqual({ running: 0, waiting: 0, followers: 0, overdue: 1 });
    deaf.calls[0]!.finish();
    await eventually(() => agent.load().overdue === 0);
  });

  it('tells those who follow what a durable store keeps in line to come back, with a retry field and a clean close', async () => {
    const puppet = new Puppet();
    const store = new SlowRunStore(() => 1, true);
    const runs = { ...runsOf(30), disconnect: 'cancel' as const };
    const { app, url, agent } = await start(adapter, { handler: puppet.handler, store, runs });
    const kwargs = { session_id: 's' };
    const first = await Connection.post(url, '1', FULL, kwargs);
    const queued = await Connection.post(url, '2', FULL, kwargs);
    await puppet.call(1);
    await queued.readUntil('come first');
    await app.close();
    expect(answerOf((await first.readBytes()).toString()).done).toMatchObject([{ status: 'failed' }]);
    expect((await queued.readBytes()).toString()).toBe('retry: 1000\n\n');
    expect(queued.response.complete).toBe(true);
    expect(await store.find('anonymous', queued.runId)).toMatchObject({ status: 'waiting' });
    expect(puppet.calls).toHaveLength(1);
    expect(agent.load()).toEqual({ running: 0, waiting: 0, followers: 0, overdue: 0 });
  });

  it('does not wait for a client that has stopped reading', async () => {
    let emitted = 0;
    const handler = async function* () {
      for (;;) yield { type: 'x', data: [++emitted, 'x'.repeat(1024)] };
    };
    const { app, url, agent } = await start(adapter, { handler, runs: runsOf(30) });
    const stalled = await Connection.post(url, 'Hello', FULL);
    for (let before = -1; emitted !== before; await turns(1000)) before = emitted;
    await app.close();
    expect(agent.load()).toEqual({ running: 0, waiting: 0, followers: 0, overdue: 0 });
    // Cut off: the chunked coding has no end, so that nobody takes this for the whole.
    await expect(stalled.readBytes()).rejects.toThrow('aborted');
  });

  it('closes at once where nothing is going on, and may be told twice', async () => {
    const { app, agent } = await start(adapter, { handler: new Puppet().handler });
    await Promise.all([agent.onModuleDestroy(), agent.onModuleDestroy()]);
    await app.close();
  });
});
