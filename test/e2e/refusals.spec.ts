import diagnostics from 'node:diagnostics_channel';
import http from 'node:http';
import vm from 'node:vm';
import { type CanActivate, type ExecutionContext, HttpException, UseGuards } from '@nestjs/common';
import { message, QueryError, QueryModule, type RequestRefused, type RunListener } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, cancel, follow, get, request } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnBothAdapters, type Host, startHost } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

class StatusGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    const status = Number(headers['x-guard'] ?? 0);
    if (status > 0) throw new HttpException('No.', status);
    return true;
  }
}

/** What `await` waits for, although it is no `Promise` of this realm. */
function refusalOfAnotherKind(kind: 'other realm' | 'thenable'): Promise<void> {
  const error = new QueryError('quota_exceeded', 'Used up.', { status: 402 });
  if (kind === 'thenable')
    return { then: (_: unknown, reject: (error: unknown) => void) => reject(error) } as never;
  const reject = vm.runInNewContext('(error) => Promise.reject(error)') as (error: unknown) => Promise<void>;
  return reject(error);
}

describeOnBothAdapters('Refusals, on %s', (adapter) => {
  let host: Host;
  let scripted: ScriptedAgent;
  let refused: RequestRefused[];
  let repeated: string[];
  let owners: (string | undefined)[];

  beforeEach(async () => {
    scripted = new ScriptedAgent();
    refused = [];
    repeated = [];
    owners = [];
    const listener: RunListener = {
      refused: (event) => refused.push(event),
      repeated: ({ run }) => repeated.push(run.id),
    };
    host = await startHost(
      adapter,
      QueryModule.forRoot({
        handler: scripted.handler,
        listeners: [listener],
        decorators: [UseGuards(StatusGuard)],
        owner: ({ headers }) => {
          owners.push(headers['x-owner'] as string | undefined);
          return owners.at(-1);
        },
        admit: ({ parts: [part] }) => {
          const text = part?.type === 'text' ? part.text : '';
          if (text === 'quota') throw new QueryError('quota_exceeded', 'Used up.', { status: 402 });
          if (text === 'broken') throw new Error('secret');
          if (text === 'other realm' || text === 'thenable') return refusalOfAnotherKind(text);
          if (text === 'forbidden') throw new HttpException('No.', 403);
        },
        limits: { textBytes: 100 },
        runs: { drainMs: 0, stopDeadlineMs: 100, maxRunning: 1, maxWaiting: 0 },
      }),
    );
  });
  afterEach(() => host.close());

  const refusal = (code: string, status: number, owner?: string, isQuery = true, sessionId?: string) => ({
    code,
    status,
    isQuery,
    owner,
    sessionId,
  });

  it.each([401, 403, 429, 418, 500])(promise('module.refusals', 'a guard: %j'), async (status) => {
    const headers = { 'x-guard': status, 'x-owner': 'ann' };
    expect((await ask(host.url, 'Hello', { headers })).status).toBe(status);
    const code = {
      401: 'unauthorized',
      403: 'forbidden',
      429: 'rate_limited',
      418: 'refused',
      500: 'internal',
    }[status]!;
    expect(refused).toEqual([refusal(code, status)]);
    expect((await request(host.url, { method: 'GET', path: '/query/a', headers })).status).toBe(status);
    expect(refused.slice(1)).toEqual([refusal(code, status, undefined, false)]);
  });

  it(promise('module.refusals', 'the body and the headers'), async () => {
    const headers = { 'x-owner': 'ann' };
    await (await request(host.url, { headers }, '{')).whole();
    await (await request(host.url, { headers }, '{"parts":[]}')).whole();
    await (await ask(host.url, 'x'.repeat(101), { headers })).whole();
    await (await request(host.url, { headers: { ...headers, 'content-type': 'text/plain' } }, 'x')).whole();
    await (await ask(host.url, 'Hello', { headers: { ...headers, 'last-event-id': '?' } })).whole();
    expect(refused).toEqual([
      refusal('invalid_json', 400, 'ann'),
      refusal('invalid_query', 400, 'ann'),
      refusal('limit_exceeded', 413, 'ann'),
      refusal('unsupported_media_type', 415, 'ann'),
      refusal('invalid_query', 400, 'ann', false),
    ]);
  });

  it.each(['other realm', 'thenable'])(
    promise('module.admit', 'a promise of another kind: %s'),
    async (text) => {
      expect((await ask(host.url, text)).status).toBe(402);
      expect(refused).toEqual([refusal('quota_exceeded', 402, 'anonymous')]);
      expect(scripted.calls).toEqual([]);
    },
  );

  it(promise('module.refusals', 'the admission'), async () => {
    const kwargs = { session_id: 's' };
    for (const text of ['quota', 'broken', 'forbidden'])
      await (await ask(host.url, text, { kwargs })).whole();
    const running = await ask(host.url, 'Hello', { headers: { 'idempotency-key': 'k' } });
    await scripted.call(1);
    expect((await ask(host.url, 'Hello', { headers: { prefer: 'respond-async' } })).status).toBe(503);
    expect((await ask(host.url, 'Other', { headers: { 'idempotency-key': 'k' } })).status).toBe(422);
    expect(refused).toEqual([
      refusal('quota_exceeded', 402, 'anonymous', true, 's'),
      refusal('internal', 500, 'anonymous', true, 's'),
      refusal('forbidden', 403, 'anonymous', true, 's'),
      refusal('at_capacity', 503, 'anonymous'),
      refusal('idempotency_conflict', 422, 'anonymous'),
    ]);
    scripted.calls[0]!.finish();
    await running.whole();
  });

  it(promise('module.refusals', 'other requests than queries'), async () => {
    await (await follow(host.url, 'none')).whole();
    await (await cancel(host.url, 'none')).whole();
    await (await get(host.url, '/query/sessions/none')).whole();
    const resumed = await ask(host.url, 'Hello', {
      headers: { 'last-event-id': 'none.1', 'x-owner': 'ann' },
    });
    expect(resumed.status).toBe(404);
    expect(refused).toEqual([
      ...Array.from({ length: 3 }, () => refusal('not_found', 404, 'anonymous', false)),
      refusal('not_found', 404, 'ann', false),
    ]);
  });

  it(promise('module.refusals', 'a query of the host, and the channel'), async () => {
    const published: unknown[] = [];
    const subscriber = (event: unknown) => published.push(event);
    diagnostics.subscribe('nest-agent-query:refused', subscriber);
    const query = { parts: [{ type: 'text' as const, text: 'quota' }], kwargs: { session_id: 's' } };
    const failure = await new Promise((failed) =>
      host.agent.query(query, { owner: 'ben' }).subscribe({ error: failed }),
    );
    diagnostics.unsubscribe('nest-agent-query:refused', subscriber);
    expect(failure).toMatchObject({ code: 'quota_exceeded' });
    expect(refused).toEqual([refusal('quota_exceeded', 402, 'ben', true, 's')]);
    expect(published).toEqual(refused);
  });

  it(
    promise('module.refusals', 'none where a caller leaves, a run fails or a query is repeated'),
    async () => {
      const first = await ask(host.url);
      (await scripted.call(1)).fail(new Error('secret'));
      await first.whole();
      const left = http.request(`${host.url}/query`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': 100, 'x-owner': 'leaver' },
      });
      left.on('error', () => undefined).write('{"parts":');
      await eventually(() => owners.includes('leaver'));
      left.destroy();
      const query = { headers: { 'idempotency-key': 'k' } };
      const admitted = await ask(host.url, 'Hello', query);
      (await scripted.call(2)).emit(message('Hi'));
      scripted.calls[1]!.finish();
      await admitted.whole();
      await (await ask(host.url, 'Hello', query)).whole();
      expect(refused).toEqual([]);
    },
  );

  it(promise('module.repeated'), async () => {
    const query = { headers: { 'idempotency-key': 'k' } };
    const first = await ask(host.url, 'Hello', query);
    (await scripted.call(1)).finish();
    await first.whole();
    expect(repeated).toEqual([]);
    await (await ask(host.url, 'Hello', query)).whole();
    expect(repeated).toEqual([first.runId]);
  });
});
