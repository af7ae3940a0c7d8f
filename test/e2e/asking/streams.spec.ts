import { message } from '../../../src/index.js';
import { TestClock } from '../../../src/testing/index.js';
import { promise } from '../../promises.js';
import { answer, answered, askingRun, asks, finish, jsonAt, quarter, YES } from '../../support/asking.js';
import { ask, follow, FULL, get, type Reply, request } from '../../support/client.js';
import { eventually } from '../../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent, startClockedAgent } from '../../support/host.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

describeOnOneAdapter('The streams of a run that asks, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  let clock: TestClock;
  const startClocked = async () => {
    agent = new ScriptedAgent();
    clock = new TestClock();
    host = await startClockedAgent(adapter, clock, agent.handler);
  };
  /** All bytes of a stream that is held for as long as the default says. */
  const allHeld = async (reply: Reply) => {
    await eventually(() => clock.left('holdMs').length === 1);
    await clock.advance(30_000);
    return reply.whole();
  };
  const start = async (streams: object = {}) => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, { streams });
  };
  afterEach(() => host.close());

  it(promise('answer.stream'), async () => {
    await start();
    const run = await askingRun(host, agent);
    const stream = await answer(host.url, run.runId, [YES], FULL);
    expect(stream.status).toBe(200);
    expect(stream.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(stream.headers['content-location']).toBe(`/query/${run.runId}`);
    run.call.emit(message('Refunded.'));
    await finish(run);
    const events = await stream.allEvents();
    expect(events.map(({ id }) => id)).toEqual([2, 3, 4].map((seq) => `${run.runId}.${seq}`));
    expect(events.map(({ data }) => (JSON.parse(data) as { type: string }).type)).toEqual([
      'input_resolved',
      'message',
      'done',
    ]);
  });

  it(promise('answer.stream', 'after Last-Event-ID'), async () => {
    await start();
    const run = await askingRun(host, agent);
    const stream = await answer(host.url, run.runId, [YES], { ...FULL, 'last-event-id': `${run.runId}.0` });
    await finish(run);
    expect((await stream.allEvents()).map(({ id }) => id)).toEqual(
      [1, 2, 3].map((seq) => `${run.runId}.${seq}`),
    );
  });

  it(promise('answer.stream', 'JSON for any other'), async () => {
    await start();
    for (const [index, accept] of [
      'application/json',
      '*/*',
      'text/event-stream;q=0.1, application/json',
    ].entries()) {
      const run = await askingRun(host, agent, undefined, { text: `${index}` });
      const reply = await answer(host.url, run.runId, [YES], { accept });
      expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(await reply.json()).toMatchObject({ id: run.runId, events: 2, endedAt: null });
      await finish(run);
    }
  });

  it(promise('answer.stream', 'and holds it while other requests are open'), async () => {
    await start();
    const run = await askingRun(host, agent, [quarter(), quarter({ key: 'b' })]);
    const first = await answer(host.url, run.runId, [answered('quarter', '1')], FULL);
    await first.until('input_resolved');
    await answer(host.url, run.runId, [answered('b', '2')]);
    await finish(run);
    expect((await first.allEvents()).map(({ id }) => id)).toEqual(
      [2, 3, 4].map((seq) => `${run.runId}.${seq}`),
    );
  });

  it(promise('answer.cursor'), async () => {
    await start();
    const other = await ask(host.url, 'Other');
    (await agent.callFor('Other')).finish();
    await other.whole();
    const run = await askingRun(host, agent);
    for (const [id, detail] of [
      [`${other.runId}.1`, 'Last-Event-ID belongs to another run than the path.'],
      ['x', 'Last-Event-ID must be the id of an event of this service, "{runId}.{number}".'],
      [`${run.runId}.2`, 'The cursor 2 is greater than the number of the newest envelope, which is 1.'],
    ] as const) {
      const refused = await answer(host.url, run.runId, [YES], { ...FULL, 'last-event-id': id });
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({ code: 'invalid_query', detail });
    }
    expect(await jsonAt(host.url, `/query/${run.runId}`)).toMatchObject({
      status: 'input_required',
      events: 1,
    });
    await answer(host.url, run.runId, [YES]);
    await finish(run);
  });

  it(promise('asking.hold', 'in the full profile'), async () => {
    await startClocked();
    const run = await askingRun(host, agent);
    const held = await allHeld(run.asked);
    expect(held).toMatch(
      /^retry: 1000\nid: [\w-]+\.1\ndata: \{"type":"input_required".*\}\n\n(:\n)+retry: 15000\n$/,
    );
    await eventually(() => host.agent.load().followers === 0);
    const back = await follow(host.url, run.runId, { 'last-event-id': `${run.runId}.0` });
    expect(await allHeld(back)).toBe(held);
    const atEnd = await follow(host.url, run.runId, { 'last-event-id': `${run.runId}.1` });
    expect(atEnd.status).toBe(200);
    expect(await allHeld(atEnd)).toMatch(/^retry: 1000\n(:\n)+retry: 15000\n$/);
    const resumed = await request(host.url, { headers: { ...FULL, 'last-event-id': `${run.runId}.1` } });
    expect(await allHeld(resumed)).toMatch(/^retry: 1000\n(:\n)+retry: 15000\n$/);
    expect(await jsonAt(host.url, `/query/${run.runId}`)).toMatchObject({ status: 'input_required' });
    await answer(host.url, run.runId, [YES]);
    await run.answers;
    run.call.finish();
    const rest = await follow(host.url, run.runId, { 'last-event-id': `${run.runId}.1` });
    expect((await rest.allEvents()).map(({ id }) => id)).toEqual([`${run.runId}.2`, `${run.runId}.3`]);
  });

  it(promise('asking.hold', 'in the plain profile'), async () => {
    await startClocked();
    const asked = await ask(host.url);
    const call = await agent.call(1);
    const answers = asks(call, [quarter()]);
    expect(await allHeld(asked)).toMatch(/^data: \{"type":"input_required".*\}\n\n(\n\n)+$/);
    await answer(host.url, asked.runId, [answered('quarter', 'Q1')]);
    await answers;
    call.finish();
    await host.idle();
  });

  it(promise('asking.held-answer'), async () => {
    await start({ holdMs: 600_000, keepAliveMs: 10 });
    const run = await askingRun(host, agent);
    const others = [await follow(host.url, run.runId), await get(host.url, `/query/${run.runId}`, FULL)];
    for (const reply of others) await reply.until(':\n:\n');
    expect((await answer(host.url, run.runId, [YES])).status).toBe(200);
    await run.asked.until('"input_resolved"');
    run.call.emit(message('Refunded.'));
    const whole = await finish(run);
    const events = (text: string) => text.replace(/^:\n/gm, '');
    for (const reply of others) expect(events(await reply.whole())).toBe(events(whole));
  });

  it(promise('asking.hold', '30 s by default, from the request on and again for each pause'), async () => {
    await startClocked();
    const run = await askingRun(host, agent, [quarter(), quarter({ key: 'b' })]);
    expect(clock.left('holdMs')).toEqual([30_000]);
    await clock.advance(20_000);
    // An answer to one of two does not begin anew.
    await answer(host.url, run.runId, [answered('quarter', '1')]);
    await run.asked.until('input_resolved');
    expect(clock.left('holdMs')).toEqual([10_000]);
    await answer(host.url, run.runId, [answered('b', '2')]);
    await run.asked.until('"b"');
    await run.answers;
    await eventually(() => clock.left('holdMs').length === 0);
    await clock.advance(60_000);
    const again = asks(run.call, [quarter({ key: 'c' })]);
    await eventually(() => clock.left('holdMs').length === 1);
    expect(clock.left('holdMs')).toEqual([30_000]);
    await clock.pass('holdMs');
    expect(await run.asked.whole()).toMatch(/retry: 15000\n$/);
    await answer(host.url, run.runId, [answered('c', '3')]);
    await again;
    run.call.finish();
    await host.idle();
  });
});
