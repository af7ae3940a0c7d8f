import { once } from 'node:events';
import { createServer } from 'node:http';
import { Module, UnauthorizedException } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { INestApplication } from '@nestjs/common';
import { eventually } from '../../test/support/conditions.js';
import { type AdapterName, adapterNamed, describeOnOneAdapter } from '../../test/support/host.js';
import {
  AgentService,
  file,
  log,
  message,
  QueryError,
  QueryModule,
  type QueryModuleOptions,
} from '../query/index.js';
import { ask, Clock, ScriptedHandler, TestClock } from './index.js';

/** The SHA-256 of `a`. */
const SHA256 = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';

describeOnOneAdapter('ask on %s', (adapter) => {
  let app: INestApplication;
  let clock: TestClock;
  afterEach(() => app.close());

  it('asks an application that does not listen yet, also twice at once', async () => {
    const handler = new ScriptedHandler([
      message('Hel'),
      log('half'),
      message('lo'),
      file({ name: 'a.txt', mimeType: 'text/plain', content: Buffer.from('a') }),
    ]);
    await create(adapter, { handler });
    const [first, second] = await Promise.all([ask(app, 'a'), ask(app, 'b')]);
    const end = { status: 'completed' };
    const path = `/query/${first.runId}/files/${SHA256}`;
    const files = [{ name: 'a.txt', mimeType: 'text/plain', size: 1, sha256: SHA256, path }];
    expect(first).toMatchObject({ status: 200, text: 'Hello', files, end, problem: undefined });
    expect(first.envelopes.map(({ type }) => type)).toEqual(['message', 'log', 'message', 'file', 'done']);
    expect([first.lastEventId, first.runId]).toEqual([
      `${first.runId}.5`,
      expect.stringMatching(/^[0-9a-f-]{36}$/),
    ]);
    expect(second.runId).not.toBe(first.runId);
  });

  it('sends texts, files, kwargs, a session and headers', async () => {
    const handler = new ScriptedHandler([]);
    await create(adapter, {
      handler,
      owner: ({ headers }) => headers['x-user'] as string | undefined,
    });
    const parts = ['Look', { name: 'a.bin', content: Buffer.from([1, 2]) }, new File(['b'], 'b.txt')];
    await ask(app, parts, { kwargs: { a: 1 }, sessionId: 's', headers: { 'X-User': 'ada' } });
    const [{ query, context }] = handler.calls as [(typeof handler.calls)[0]];
    expect(query.parts).toMatchObject([
      { type: 'text', text: 'Look' },
      { type: 'file', name: 'a.bin', mimeType: 'application/octet-stream' },
      { type: 'file', name: 'b.txt', mimeType: 'application/octet-stream' },
    ]);
    expect(query.kwargs).toEqual({ a: 1, session_id: 's' });
    expect([context.owner, context.session?.id]).toEqual(['ada', 's']);
  });

  it('returns a refusal with its problem', async () => {
    await create(adapter, {
      handler: new ScriptedHandler([]),
      owner: ({ headers }) => {
        if (headers['x-user'] === undefined) throw new UnauthorizedException('Who are you?');
        return 'ada';
      },
    });
    const anonymous = await ask(app, 'Hello');
    expect(anonymous).toMatchObject({ status: 401, envelopes: [], text: '', files: [], end: undefined });
    expect(anonymous.problem).toMatchObject({ code: 'unauthorized', detail: 'Who are you?' });
    const wrong = await ask(app, [{ type: 'text' }, { type: 'sound' }], { headers: { 'x-user': 'ada' } });
    expect(wrong.problem?.errors?.map(({ pointer }) => pointer)).toEqual(['/parts/0/text', '/parts/1/type']);
    const lost = await ask(app, 'Hello', { path: 'nowhere' });
    expect([lost.status, lost.problem, JSON.parse(lost.body)]).toEqual([
      404,
      undefined,
      expect.objectContaining({ statusCode: 404 }),
    ]);
  });

  it('repeats a query with its idempotency key, and resumes after an event', async () => {
    const handler = new ScriptedHandler([message('a'), message('b')]);
    await create(adapter, { handler });
    const first = await ask(app, 'Hello', { idempotencyKey: 'k' });
    const again = await ask(app, 'Hello', { idempotencyKey: 'k' });
    const rest = await ask(app, 'Hello', { lastEventId: `${first.runId}.1` });
    expect([again.runId, again.text, rest.text]).toEqual([first.runId, 'ab', 'b']);
    expect(handler.calls).toHaveLength(1);
  });

  it('names the run of a query that is answered later', async () => {
    await create(adapter, { handler: new ScriptedHandler([]) });
    const { status, runId, envelopes } = await ask(app, 'Hello', { headers: { Prefer: 'respond-async' } });
    expect([status, envelopes]).toEqual([202, []]);
    expect(await app.get(AgentService, { strict: false }).find('anonymous', runId!)).toBeDefined();
  });

  it('returns how a run has failed', async () => {
    const handler = new ScriptedHandler();
    await create(adapter, { handler });
    const asking = ask(app, 'Hello');
    const call = await handler.call(1);
    call.emit(message('a'));
    call.fail(new QueryError('not_found', 'There is no such city.'));
    expect(await asking).toMatchObject({
      text: 'a',
      end: { status: 'failed', error: { code: 'not_found', message: 'There is no such city.' } },
    });
  });

  it('closes the connection when its signal is aborted; the clock then passes the grace period', async () => {
    const handler = new ScriptedHandler();
    await create(adapter, { handler, runs: { disconnect: { graceMs: 30_000 } } });
    const controller = new AbortController();
    const asking = ask(app, 'Hello', { signal: controller.signal });
    const call = await handler.call(1);
    await eventually(() => app.get(AgentService, { strict: false }).load().followers === 1);
    controller.abort(new Error('The tab was closed.'));
    await expect(asking).rejects.toThrow('The tab was closed.');
    await clock.pass('graceMs');
    await call.stopped;
    expect(call.context.signal.aborted).toBe(true);
  });

  it('has a clock for the time limit of a run and its stop deadline', async () => {
    const handler = new ScriptedHandler(undefined, { ignoresSignal: true });
    await create(adapter, { handler });
    const asking = ask(app, 'Hello');
    const call = await handler.call(1);
    await clock.pass('timeoutMs');
    await clock.pass('stopDeadlineMs');
    expect((await asking).end).toMatchObject({ error: { code: 'run_timeout' } });
    expect(clock.now()).toBe(15 * 60_000 + 5_000);
    call.finish();
    await call.stopped;
  });

  it('has a clock for keep-alives', async () => {
    const handler = new ScriptedHandler();
    await create(adapter, { handler });
    const asking = ask(app, 'Hello');
    const call = await handler.call(1);
    await eventually(() => clock.left('keepAliveMs').length === 1);
    await clock.advance(8_000);
    call.finish();
    expect((await asking).body).toMatch(/^retry: 1000\n:\n:\nid: /);
  });

  async function create(name: AdapterName, options: QueryModuleOptions): Promise<void> {
    @Module({ imports: [QueryModule.forRoot(options)] })
    class AppModule {}
    clock = new TestClock();
    const testing = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(Clock)
      .useValue(clock)
      .compile();
    app = testing.createNestApplication(adapterNamed(name), { logger: false });
  }
});

describe('ask', () => {
  it.each([
    ['at once', 'retry: 1000\n', 'at once. It ended with "retry: 1000\\n".'],
    [
      'after an envelope',
      'data: {"type":"log","data":{"message":"a"}}\n\ndata: {"ty',
      'after 1 envelopes, the last of which is {"type":"log","data":{"message":"a"}}. It ended with "data: ' +
        '{\\"type\\":\\"log\\",\\"data\\":{\\"message\\":\\"a\\"}}\\n\\ndata: {\\"ty".',
    ],
  ])('says so where a stream stops %s, without `done`', async (_, sent, described) => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      response.write(sent, () => response.destroy());
    });
    const listen = (port: number, host: string) => once(server.listen(port, host), 'listening');
    const app = { getHttpServer: () => server, listen } as unknown as INestApplication;
    await expect(ask(app, 'Hello')).rejects.toThrow(
      `The stream stopped without \`done\`, ${described} The connection was cut, or the application was closed.`,
    );
    server.close();
  });
});
