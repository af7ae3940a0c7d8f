import { cancel, get, request } from '../../support/client.js';
import { eventuallyElsewhere } from '../../support/conditions.js';
import type { Cluster } from '../../support/cluster/cluster.js';
import type { Member } from '../../support/cluster/member.js';
import { clusterSuite } from '../../support/cluster/suite.js';
import { promise } from '../../promises.js';

describe('Two processes', () => {
  // No heartbeat looks for what signals say: it would come after minutes.
  const suite = clusterSuite(
    { a: {}, b: {} },
    { leaseMs: 1_800_000, runs: { stopDeadlineMs: 500, disconnect: { graceMs: 500 } } },
  );
  let cluster: Cluster;
  let a: Member;
  let b: Member;

  beforeEach(() => {
    ({ cluster } = suite);
    [a, b] = [cluster.member('a'), cluster.member('b')];
  });

  it(promise('cluster.follow'), async () => {
    const asked = cluster.ask(a, { steps: [{ emit: 3 }, { gate: 'more' }, { emit: 2 }, { gate: 'end' }] });
    const follower = cluster.follow(b, await asked.admitted());
    await follower.until('"3 "');
    cluster.gates.open('more');
    await follower.until('"5 "');
    expect(follower.isDone).toBe(false);
    cluster.gates.open('end');
    await follower.ended;
    expect(follower.contents).toEqual(['1 ', '2 ', '3 ', '4 ', '5 ']);
  });

  it(promise('cluster.resume'), async () => {
    const asked = cluster.ask([a, b], { steps: [{ emit: 3 }, { gate: 'end' }, { emit: 100, everyMs: 1 }] });
    await asked.until('"3 "');
    const once = cluster.follow(b, asked.runId!);
    await once.until('"2 "');
    once.leave();
    cluster.gates.open('end');
    await asked.ended;
    const reply = await request(b.url, {
      method: 'GET',
      path: `/query/${asked.runId}`,
      headers: { accept: 'text/event-stream', 'last-event-id': `${asked.runId}.50` },
    });
    const events = await reply.allEvents();
    expect(events.map(({ id }) => id)).toEqual(
      asked.received.slice(50).map(({ seq }) => `${asked.runId}.${seq}`),
    );
  });

  it(promise('cluster.cancel'), async () => {
    const asked = cluster.ask(a, { steps: [{ emit: 1 }, { gate: 'never' }] });
    const deaf = cluster.ask(a, { steps: [{ deaf: 1 }, { emit: 1 }, { gate: 'deaf' }] });
    await Promise.all([asked.until('"1 "'), deaf.until('"1 "')]);
    const stopped = await cancel(b.url, asked.runId!);
    expect([stopped.status, (await stopped.json())['status']]).toEqual([200, 'cancelled']);
    expect(await cluster.executions()).toContainEqual(
      expect.objectContaining({ what: 'aborted', runId: asked.runId, process: 'a' }),
    );
    const late = await cancel(b.url, deaf.runId!);
    expect([late.status, (await late.json())['status']]).toEqual([202, 'cancelled']);
    await Promise.all([asked.ended, deaf.ended]);
    expect([asked.end, deaf.end]).toEqual([{ status: 'cancelled' }, { status: 'cancelled' }]);
    const again = await cancel(b.url, asked.runId!);
    expect(again.status).toBe(200);
    cluster.gates.open('deaf');
  });

  it(promise('asking.elsewhere', 'as soon as the signal of the answer comes'), async () => {
    const asked = cluster.ask(a, { steps: [{ ask: 'first' }, { ask: 'second' }, { emit: 1 }] });
    for (const id of ['first', 'second']) {
      await asked.until(`"${id}"`);
      const answers = [{ id, outcome: 'answered', value: { approved: true } }];
      const path = `/query/${asked.runId}/inputs`;
      const reply = await request(b.url, { path }, JSON.stringify({ answers }));
      expect(reply.status).toBe(200);
      await reply.whole();
      await asked.until(`${id} answered true `);
    }
    await asked.ended;
    expect(asked.contents).toEqual(['first answered true ', 'second answered true ', '1 ']);
  });

  it(promise('cluster.erase'), async () => {
    const first = cluster.ask(a, { session: 'erased', steps: [{ emit: 1 }] });
    await first.ended;
    const running = cluster.ask(a, { session: 'erased', steps: [{ emit: 1 }, { gate: 'never' }] });
    await running.until('"1 "');
    const waiting = cluster.ask(b, { session: 'erased' });
    const follower = cluster.follow(b, running.runId!);
    await Promise.all([waiting.until('1 ahead'), follower.until('"1 "')]);
    const erased = await request(b.url, { method: 'DELETE', path: '/query/sessions/erased' });
    expect(erased.status).toBe(204);
    for (const caller of [running, waiting, follower]) {
      await caller.ended;
      expect(caller.end).toEqual({ status: 'cancelled' });
    }
    for (const { url } of [a, b]) {
      const gone = [`/query/sessions/erased`, `/query/${first.runId}`, `/query/${running.runId}`];
      for (const path of gone) expect((await get(url, path)).status).toBe(404);
    }
    // Their logs are gone.
    cluster.callers.length = 0;
  });

  it(promise('cluster.retry'), async () => {
    const query = { key: 'k', steps: [{ emit: 3 }, { gate: 'end' }, { emit: 1 }] };
    const asked = Array.from({ length: 12 }, (_, i) => cluster.ask(i % 2 ? a : b, { ...query }));
    await Promise.all(asked.map((caller) => caller.until('"3 "')));
    cluster.gates.open('end');
    await Promise.all(asked.map(({ ended }) => ended));
    expect(new Set(asked.map(({ runId }) => runId)).size).toBe(1);
    expect(new Set(asked.map(({ contents }) => contents.join(''))).size).toBe(1);
    const calls = (await cluster.executions()).filter(({ what }) => what === 'called');
    expect(calls.filter(({ runId }) => runId === asked[0]!.runId)).toHaveLength(1);
  });

  it(promise('cluster.grace'), async () => {
    const kept = cluster.ask(a, { steps: [{ emit: 1 }, { gate: 'kept' }, { emit: 1 }] });
    const left = cluster.ask(a, { steps: [{ emit: 1 }, { gate: 'left' }, { emit: 1 }] });
    await Promise.all([kept.until('"1 "'), left.until('"1 "')]);
    const follower = cluster.follow(b, kept.runId!);
    await follower.until('"1 "');
    kept.leave();
    left.leave();
    // The grace period of both began at the same time.
    const end = cluster.follow(b, left.runId!);
    end.leave();
    await eventuallyElsewhere(async () => {
      const run = await (await get(b.url, `/query/${left.runId}`)).json();
      return run['status'] === 'cancelled';
    });
    cluster.gates.open('kept');
    await follower.ended;
    expect(follower.end).toEqual({ status: 'completed' });
  });

  it(promise('cluster.sessions'), async () => {
    const steps = [{ turns: 1 }, { emit: 1 }];
    const first = cluster.ask(a, { session: 's', steps: [{ gate: 'first' }, ...steps] });
    await cluster.gates.reached('first');
    const later = [];
    for (let i = 0; i < 6; i++) {
      const caller = cluster.ask(i % 2 ? a : b, { session: 's', steps });
      await caller.until('ahead');
      later.push(caller);
    }
    cluster.gates.open('first');
    await Promise.all([first, ...later].map(({ ended }) => ended));
    const turns = later.map(({ contents }) => (JSON.parse(contents[0]!) as string[]).length);
    expect(turns).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it(promise('cluster.deploy'), async () => {
    const asked = cluster.ask(a, { steps: [{ emit: 1 }, { gate: 'started' }, { emit: 10, everyMs: 5 }] });
    const follower = cluster.follow(b, await asked.admitted());
    const c = await cluster.add('c');
    const late = cluster.follow(c, asked.runId!);
    await late.until('"1 "');
    cluster.gates.open('started');
    await Promise.all([asked, follower, late].map(({ ended }) => ended));
    expect([asked, follower, late].flatMap(({ cuts }) => cuts)).toEqual([]);
    expect(await c.stop()).toBe(0);
  });

  it(promise('cluster.backpressure'), async () => {
    const steps = [{ gate: 'first' }, { emit: 1 }, { gate: 'rest' }, { emit: 28, length: 256 * 1024 }];
    const asked = cluster.ask(a, { steps });
    await asked.admitted();
    const stalled = await request(b.url, {
      method: 'GET',
      path: `/query/${asked.runId}`,
      headers: { accept: 'text/event-stream' },
      isStalled: true,
    });
    // What it receives shows that the other process knows of the followers here.
    const reading = cluster.follow(b, asked.runId!);
    cluster.gates.open('first');
    await reading.until('"1 "');
    reading.leave();
    asked.leave();
    cluster.gates.open('rest');
    await eventuallyElsewhere(isStill);
    expect(await stalledEvents()).toBeLessThan(26);
    stalled.discard();
    const follower = cluster.follow(b, asked.runId!);
    await follower.ended;
    expect(follower.contents).toHaveLength(29);

    async function stalledEvents(): Promise<number> {
      return (await (await get(b.url, `/query/${asked.runId}`)).json<{ events: number }>()).events;
    }
    /** Whether nothing was emitted for a while. */
    async function isStill(): Promise<boolean> {
      const before = await stalledEvents();
      await new Promise((resolve) => setTimeout(resolve, 300));
      return before > 1 && before === (await stalledEvents());
    }
  });
});
