import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { interval, map, Observable, of } from 'rxjs';
import {
  type Envelope,
  MemoryRunStore,
  message,
  type Query,
  type QueryModuleOptions,
} from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, cancel, follow, FULL, get } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { ticks } from '../support/slow-run-store.js';

/** So long that few envelopes fill what the buffers of a connection and a log take. */
const TEXT = 'x'.repeat(8 * 1024);

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

describeOnOneAdapter('Back-pressure on %s', (adapter) => {
  let host: Host;
  const start = async ({ handler, ...options }: QueryModuleOptions) =>
    (host = await startAgent(adapter, handler, options));
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  /** A handler that emits numbered envelopes of 8 KiB as fast as it can, and how many it has emitted. */
  const counting = (count = Infinity) => {
    const state = { emitted: 0, stopped: false };
    const handler = async function* () {
      try {
        while (state.emitted < count) yield { type: 'x', data: [++state.emitted, TEXT] };
      } finally {
        state.stopped = true;
      }
    };
    return { state, handler };
  };
  /** Resolves when a handler has emitted nothing for a thousand ticks. */
  const hasPaused = async (state: { emitted: number }) => {
    for (let before = -1; state.emitted !== before; await ticks(1000)) before = state.emitted;
  };

  it(promise('backpressure.continues'), async () => {
    const { state, handler } = counting(2_500);
    await start({ handler });
    const stalled = await ask(host.url, 'Hello', { headers: FULL, isStalled: true });
    await hasPaused(state);
    // 1 MiB that waits in the log, and what fits into the buffers of the connection.
    expect(state.emitted).toBeGreaterThan(125);
    expect(state.emitted).toBeLessThan(1_875);

    // A second reader overtakes the first.
    const second = await follow(host.url, stalled.runId);
    const events = await second.allEvents();
    expect(state.emitted).toBe(2_500);
    expect(events).toHaveLength(2_501);

    // The first one is still connected, and reads everything from the point where it stopped.
    const all = await stalled.allEvents();
    expect(all.map(({ id }) => Number(id!.split('.')[1]))).toEqual(
      Array.from({ length: 2_501 }, (_, index) => index + 1),
    );
  });

  it(promise('backpressure.not-disconnected', 'also where little is kept of logs'), async () => {
    const handler = async function* () {
      for (let i = 0; i < 1_000; i++) yield { type: 'x', data: TEXT };
    };
    await start({ handler, store: new MemoryRunStore({ totalLength: 1024 * 1024 }) });
    const connecting = Array.from({ length: 3 }, () =>
      ask(host.url, 'Hello', { headers: FULL, isStalled: true }),
    );
    const stalled = await Promise.all(connecting);
    for (let before = -1, kept = 0; kept !== before; await ticks(1000)) {
      before = kept;
      const runs = stalled.map(({ runId }) => host.agent.find('anonymous', runId));
      kept = (await Promise.all(runs)).reduce((sum, { events }) => sum + events, 0);
    }
    expect(host.agent.load().running).toBe(3);
    for (const connection of stalled) {
      const events = await connection.allEvents();
      expect(events.map(({ id }) => Number(id!.split('.')[1]))).toEqual(
        Array.from({ length: 1_001 }, (_, index) => index + 1),
      );
    }
  });

  it(promise('backpressure.bounded-memory'), async () => {
    const { state, handler } = counting(3_750);
    await start({ handler, store: new MemoryRunStore({ logLength: 4 * 1024 * 1024 }) });
    const reply = await ask(host.url, 'Hello', { isStalled: true });
    const held = () => (collect(), process.memoryUsage().heapUsed);
    const before = held();
    let bytes = 0;
    let most = 0;
    for await (const chunk of reply.chunks()) {
      const isFull = Math.floor(bytes / 2 ** 23) < Math.floor((bytes += chunk.length) / 2 ** 23);
      if (isFull) most = Math.max(most, held() - before);
    }
    expect(state.emitted).toBe(3_750);
    const frames = Array.from({ length: 3_750 }, (_, index) => `[${index + 1},"${TEXT}"]`.length);
    const frame = 'data: {"type":"x","data":}\n\n'.length;
    const done = 'data: {"type":"done","data":{"status":"completed"}}\n\n'.length;
    expect(bytes).toBe(frames.reduce((sum, data) => sum + frame + data, done));
    expect(most).toBeLessThan(16 * 1024 * 1024);
  });

  it(promise('backpressure.bounded-memory', 'also of the runs that end after a stalled one'), async () => {
    const queries: WeakRef<Query>[] = [];
    const { state, handler: endless } = counting();
    await start({
      handler: (query) => {
        if (query.kwargs['session_id'] === undefined) return endless();
        queries.push(new WeakRef(query));
        return of(message('Hi'));
      },
    });
    const stalled = await ask(host.url, 'Hello', { headers: FULL, isStalled: true });
    await hasPaused(state);
    await cancel(host.url, stalled.runId);
    for (let i = 0; i < 50; i++)
      await (await ask(host.url, 'Hello', { kwargs: { session_id: 's' } })).answer();
    await ticks(100);
    collect();
    const kept = queries.filter((query) => query.deref()).length;
    expect(await stalled.allEvents()).toHaveLength(state.emitted + 1);
    expect(queries).toHaveLength(50);
    expect(kept).toBeLessThan(10);
  });

  it(promise('run.outlives-connection'), async () => {
    const { state, handler } = counting();
    await start({ handler, runs: { timeoutMs: 150 } });
    const named = await ask(host.url, 'Hello', { headers: { prefer: 'respond-async' } });
    const { id } = await named.json<{ id: string }>();
    await host.idle();
    expect(state.stopped).toBe(true);
    const run = await (await get(host.url, `/query/${id}`)).json();
    expect(run).toMatchObject({
      status: 'failed',
      events: state.emitted + 1,
      error: { code: 'run_timeout' },
    });
  });

  it(promise('cursor.expired', 'also for a run without followers'), async () => {
    const { state, handler } = counting();
    await start({ handler, store: new MemoryRunStore({ logLength: 1024 * 1024 }) });
    const named = await ask(host.url, 'Hello', { headers: { prefer: 'respond-async' } });
    const { id } = await named.json<{ id: string }>();
    await eventually(() => state.emitted > 375);
    expect((await cancel(host.url, id)).status).toBe(200);
    const gone = await follow(host.url, id);
    expect(await gone.json()).toMatchObject({
      status: 410,
      code: 'cursor_expired',
      latest: state.emitted + 1,
    });
  });

  it(promise('cancel.stopped', 'also while the handler waits for a reader'), async () => {
    const { state, handler } = counting();
    await start({ handler });
    const stalled = await ask(host.url, 'Hello', { headers: FULL, isStalled: true });
    await hasPaused(state);
    const response = await cancel(host.url, stalled.runId);
    expect(response.status).toBe(200);
    expect(state.stopped).toBe(true);
    const events = await stalled.allEvents();
    expect(events).toHaveLength(state.emitted + 1);
    expect(JSON.parse(events.at(-1)!.data)).toEqual({ type: 'done', data: { status: 'cancelled' } });
  });

  it(promise('cancel.stopped', 'also where the answer is an iterator without return()'), async () => {
    let count = 0;
    const iterator = { next: async () => ({ done: false as const, value: message(`${++count}${TEXT}`) }) };
    await start({ handler: () => ({ [Symbol.asyncIterator]: () => iterator }) });
    const stalled = await ask(host.url, 'Hello', { headers: FULL, isStalled: true });
    for (let before = -1; count !== before; await ticks(1000)) before = count;
    const response = await cancel(host.url, stalled.runId);
    expect(response.status).toBe(200);
    const stopped = count;
    await ticks(100);
    expect(count).toBe(stopped);
    stalled.cut();
  });

  it(promise('disconnect.cancel', 'also where it had stopped reading'), async () => {
    const { state, handler } = counting();
    await start({ handler, runs: { disconnect: 'cancel' } });
    const stalled = await ask(host.url, 'Hello', { isStalled: true });
    await hasPaused(state);
    stalled.cut();
    await eventually(() => state.stopped);
  });

  it(
    promise(
      'cursor.expired',
      'also for a reader that was disconnected because it lagged behind an Observable',
    ),
    async () => {
      let finish: (() => void) | undefined;
      const handler = () =>
        new Observable<Envelope>((subscriber) => {
          let seq = 0;
          const emit = () => {
            for (let i = 0; i < 25; i++) subscriber.next({ type: 'x', data: [++seq, TEXT] });
            if (seq < 3_125) setImmediate(emit);
            else finish = () => subscriber.complete();
          };
          emit();
        });
      await start({ handler, store: new MemoryRunStore({ logLength: 2 * 1024 * 1024 }) });
      const stalled = await ask(host.url, 'Hello', { headers: FULL, isStalled: true });
      await eventually(() => finish !== undefined);
      const events = await stalled.allEvents();
      const last = events.at(-1)!;
      expect(JSON.parse(last.data)).toMatchObject({ type: 'x' });
      expect(events.map(({ id }) => Number(id!.split('.')[1]))).toEqual(
        Array.from({ length: events.length }, (_, index) => index + 1),
      );
      expect(events.length).toBeLessThan(3_125);

      const headers = { ...FULL, 'last-event-id': last.id! };
      const gone = await follow(host.url, stalled.runId, headers);
      expect(gone.status).toBe(410);
      const { oldest, latest } = await gone.json<{ oldest: number; latest: number }>();
      expect(latest).toBe(3_125);
      expect(oldest).toBeGreaterThan(events.length + 1);
      const rest = await follow(host.url, `${stalled.runId}?after=${oldest - 1}`);
      finish!();
      expect(await rest.allEvents()).toHaveLength(latest - oldest + 2);
    },
  );

  it(promise('run.not-held-up'), async () => {
    const { state, handler: endless } = counting();
    const small = async function* () {
      for (;;) yield { type: 'x', data: ++state.emitted };
    };
    await start({
      handler: ({ parts: [part] }) => {
        if (part?.type !== 'text') return [] as never;
        if (part.text === 'endless') return endless();
        return part.text === 'small'
          ? small()
          : (async function* () {
              yield message('Hi');
            })();
      },
      runs: { disconnect: 'cancel' },
    });
    // One is always read, one has stopped reading, two have no follower.
    const reading = await ask(host.url, 'endless', { isStalled: true });
    reading.discard();
    const stalled = await ask(host.url, 'small', { isStalled: true });
    const detached = await Promise.all(
      ['endless', 'small'].map(async (text) => {
        const named = await ask(host.url, text, { headers: { prefer: 'respond-async' } });
        return (await named.json<{ id: string }>()).id;
      }),
    );
    for (let i = 0; i < 3; i++) {
      expect(await (await ask(host.url)).answer()).toEqual({ text: 'Hi', done: [{ status: 'completed' }] });
    }
    for (const id of detached) {
      expect((await cancel(host.url, id)).status).toBe(200);
    }
    reading.cut();
    stalled.cut();
  });

  it(promise('stream.one-by-one', 'from an interval'), async () => {
    await start({ handler: () => interval(1).pipe(map((count) => message(`${count}`))) });
    const asked = await ask(host.url, 'Hello');
    await asked.until('"content":"5"');
    expect((await cancel(host.url, asked.runId)).status).toBe(200);
    asked.cut();
  });
});
