import { message } from '../../src/index.js';
import { Connection, eventsOf, FULL } from '../support/client.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';
import { Puppet } from '../support/puppet.js';

describe.each(ADAPTERS)('GET {base}/query/{runId} on %s', (adapter) => {
  let host: Host;
  let puppet: Puppet;
  beforeEach(async () => {
    puppet = new Puppet();
    host = await startAgent(adapter, puppet.handler, {});
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

  it('shows the run as JSON, from the line to its end', async () => {
    const kwargs = { session_id: 's' };
    const asked = [
      await Connection.post(host.url, '1', {}, kwargs),
      await Connection.post(host.url, '2', {}, kwargs),
    ];
    const call = await puppet.call(1);
    const show = async (accept?: string) => {
      const response = await fetch(
        `${host.url}/query/${asked[1]!.runId}`,
        accept ? { headers: { accept } } : {},
      );
      expect(response.headers.get('content-type')).toContain('application/json');
      expect(response.headers.get('cache-control')).toBe('no-store');
      return response.json();
    };
    const run = { id: asked[1]!.runId, session: 's', createdAt: ISO };
    expect(await show('application/json')).toEqual({
      ...run,
      status: 'waiting',
      startedAt: null,
      endedAt: null,
      events: 1,
    });
    call.finish();
    const second = await puppet.call(2);
    second.emit(message('a'));
    await asked[1]!.readUntil('"a"');
    expect(await show()).toEqual({ ...run, status: 'running', startedAt: ISO, endedAt: null, events: 2 });
    second.fail(new Error('secret'));
    await asked[1]!.readBytes();
    expect(await show('*/*')).toEqual({
      ...run,
      status: 'failed',
      startedAt: ISO,
      endedAt: ISO,
      events: 3,
      error: { code: 'handler_failed', message: 'The agent failed. The service has logged the cause.' },
    });
    await asked[0]!.readBytes();
  });

  it('follows with any number of followers, each without a gap or a repeat', async () => {
    const asked = await Connection.post(host.url, 'Hello', FULL);
    const call = await puppet.call(1);
    const followers: Connection[] = [asked];
    for (let seq = 1; seq <= 20; seq++) {
      call.emit(message(`${seq}`));
      followers.push(await Connection.open(`${host.url}/query/${asked.runId}`, { headers: FULL }));
    }
    call.finish();
    const streams = await Promise.all(followers.map((follower) => follower.readBytes()));
    const expected = Array.from({ length: 21 }, (_, index) => `${asked.runId}.${index + 1}`);
    for (const stream of streams) expect(eventsOf(stream).map(({ id }) => id)).toEqual(expected);
    expect(new Set(streams.map(String)).size).toBe(1);
  });

  it('is in the full profile: a retry field first, and an id with each event', async () => {
    const asked = await Connection.post(host.url, 'Hello');
    const call = await puppet.call(1);
    call.emit(message('a'));
    call.finish();
    await asked.readBytes();
    const response = await fetch(`${host.url}/query/${asked.runId}`, { headers: FULL });
    expect(await response.text()).toBe(
      'retry: 1000\n\n' +
        `id: ${asked.runId}.1\ndata: {"type":"message","data":{"content":"a"}}\n\n` +
        `id: ${asked.runId}.2\ndata: {"type":"done","data":{"status":"completed"}}\n\n`,
    );
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(response.headers.get('content-location')).toBe(`/query/${asked.runId}`);
  });

  it('is 204 at the end, and goes on where the run has not ended', async () => {
    const asked = await Connection.post(host.url, 'Hello');
    const call = await puppet.call(1);
    call.emit(message('a'));
    await asked.readUntil('"a"');
    const follower = await Connection.open(`${host.url}/query/${asked.runId}?after=1`, { headers: FULL });
    expect(follower.status).toBe(200);
    call.finish();
    expect(eventsOf(await follower.readBytes()).map(({ id }) => id)).toEqual([`${asked.runId}.2`]);
    const end = await fetch(`${host.url}/query/${asked.runId}?after=2`, { headers: FULL });
    expect([end.status, await end.text()]).toEqual([204, '']);
    await asked.readBytes();
  });

  it('is 404 where there is no such run', async () => {
    for (const id of ['00000000-0000-4000-8000-000000000000', 'sessions', '%00', 'x'.repeat(90)]) {
      for (const headers of [FULL, { accept: 'application/json' }]) {
        const response = await fetch(`${host.url}/query/${id}`, { headers });
        expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
          404,
          'not_found',
        ]);
      }
    }
  });
});
