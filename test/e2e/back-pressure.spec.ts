import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { interval, map, Observable } from 'rxjs';
import { type Envelope, MemoryRunStore, message, type QueryModuleOptions } from '../../src/index.js';
import { answerOf, Connection, eventsOf, FULL, post } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';
import { turns } from '../support/slow-run-store.js';

const KIB = 'x'.repeat(1024);

describe.each(ADAPTERS)('An answer that is faster than its readers, on %s', (adapter) => {
  let host: Host;
  const start = async ({ handler, ...options }: QueryModuleOptions) =>
    (host = await startAgent(adapter, handler, options));
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  /** A handler that emits numbered envelopes of 1 KiB as fast as it is asked to, and how many those were. */
  const counting = (count = Infinity) => {
    const state = { emitted: 0, stopped: false };
    const handler = async function* () {
      try {
        while (state.emitted < count) yield { type: 'x', data: [++state.emitted, KIB] };
      } finally {
        state.stopped = true;
      }
    };
    return { state, handler };
  };
  /** Resolves when a handler has not been asked for anything for a thousand turns of the event loop. */
  const standsStill = async (state: { emitted: number }) => {
    for (let before = -1; state.emitted !== before; await turns(1000)) before = state.emitted;
  };

  it('waits for its fastest reader, and goes on when that reads again', async () => {
    const { state, handler } = counting(50_000);
    await start({ handler });
    const stalled = await Connection.post(host.url, 'Hello', FULL);
    await standsStill(state);
    // 1 MiB in the log that nobody has taken, and what lies between the service and the reader.
    expect(state.emitted).toBeGreaterThan(1000);
    expect(state.emitted).toBeLessThan(20_000);

    // Another reader comes and overtakes the first.
    const second = await Connection.open(`${host.url}/query/${stalled.runId}`, { headers: FULL });
    const events = eventsOf(await second.readBytes());
    expect(state.emitted).toBe(50_000);
    expect(events).toHaveLength(50_001);

    // The first one is still connected, and reads all of it from where it was.
    const all = eventsOf(await stalled.readBytes());
    expect(all.map(({ id }) => Number(id!.split('.')[1]))).toEqual(
      Array.from({ length: 50_001 }, (_, index) => index + 1),
    );
  });

  it('is not cut off for readers that stop, however little is kept of logs', async () => {
    const handler = async function* () {
      for (let i = 0; i < 8_000; i++) yield { type: 'x', data: KIB };
    };
    await start({ handler, store: new MemoryRunStore({ totalLength: 1024 * 1024 }) });
    const connecting = Array.from({ length: 20 }, () => Connection.post(host.url, 'Hello', FULL));
    const stalled = await Promise.all(connecting);
    for (let before = -1, kept = 0; kept !== before; await turns(1000)) {
      before = kept;
      const runs = stalled.map(({ runId }) => host.agent.find('anonymous', runId));
      kept = (await Promise.all(runs)).reduce((sum, { events }) => sum + events, 0);
    }
    expect(host.agent.load().running).toBe(20);
    for (const connection of stalled) {
      const events = eventsOf(await connection.readBytes());
      expect(events.map(({ id }) => Number(id!.split('.')[1]))).toEqual(
        Array.from({ length: 8_001 }, (_, index) => index + 1),
      );
    }
  });

  it('streams through bounded memory, however long it is', async () => {
    const { state, handler } = counting(200_000);
    await start({ handler, store: new MemoryRunStore({ logLength: 4 * 1024 * 1024 }) });
    const { response } = await Connection.post(host.url, 'Hello');
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const held = () => (collect(), process.memoryUsage().heapUsed);
    const before = held();
    let bytes = 0;
    let most = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const isFull = Math.floor(bytes / 2 ** 24) < Math.floor((bytes += chunk.length) / 2 ** 24);
      if (isFull) most = Math.max(most, held() - before);
    }
    expect(state.emitted).toBe(200_000);
    expect(bytes).toBeGreaterThan(200_000 * 1024);
    expect(most).toBeLessThan(16 * 1024 * 1024);
  });

  it('goes on without readers, and ends at the time limit of the run', async () => {
    const { state, handler } = counting();
    await start({
      handler,
      runs: { timeoutMs: 150, disconnect: 'continue' },
      store: new MemoryRunStore({ logLength: 1024 * 1024 }),
    });
    const named = await post(host.url, 'Hello', { headers: { prefer: 'respond-async' } });
    const { id } = (await named.json()) as { id: string };
    await host.idle();
    expect(state.stopped).toBe(true);
    const run = await (await fetch(`${host.url}/query/${id}`)).json();
    expect(run).toMatchObject({
      status: 'failed',
      events: state.emitted + 1,
      error: { code: 'run_timeout' },
    });
    const gone = await fetch(`${host.url}/query/${id}`, { headers: FULL });
    expect(gone.status).toBe(410);
  });

  it('is stopped while it waits for a reader, when the run is cancelled', async () => {
    const { state, handler } = counting();
    await start({ handler });
    const stalled = await Connection.post(host.url, 'Hello', FULL);
    await standsStill(state);
    const response = await fetch(`${host.url}/query/${stalled.runId}`, { method: 'DELETE' });
    expect(response.status).toBe(200);
    expect(state.stopped).toBe(true);
    const events = eventsOf(await stalled.readBytes());
    expect(events).toHaveLength(state.emitted + 1);
    expect(JSON.parse(events.at(-1)!.data)).toEqual({ type: 'done', data: { status: 'cancelled' } });
  });

  it('is stopped while it waits for a reader, also where it is an iterator without return', async () => {
    let count = 0;
    const iterator = { next: async () => ({ done: false as const, value: message(`${++count}${KIB}`) }) };
    await start({ handler: () => ({ [Symbol.asyncIterator]: () => iterator }) });
    const stalled = await Connection.post(host.url, 'Hello', FULL);
    for (let before = -1; count !== before; await turns(1000)) before = count;
    const response = await fetch(`${host.url}/query/${stalled.runId}`, { method: 'DELETE' });
    expect(response.status).toBe(200);
    const stopped = count;
    await turns(100);
    expect(count).toBe(stopped);
    stalled.cut();
  });

  it('is stopped when its only reader leaves instead of reading on', async () => {
    const { state, handler } = counting();
    await start({ handler, runs: { disconnect: 'cancel' } });
    const stalled = await Connection.post(host.url, 'Hello');
    await standsStill(state);
    stalled.cut();
    await eventually(() => state.stopped);
  });

  it('closes a reader that an Observable has left behind, and tells it what is left when it comes back', async () => {
    let finish: (() => void) | undefined;
    const handler = () =>
      new Observable<Envelope>((subscriber) => {
        let seq = 0;
        const emit = () => {
          for (let i = 0; i < 200; i++) subscriber.next({ type: 'x', data: [++seq, KIB] });
          if (seq < 40_000) setImmediate(emit);
          else finish = () => subscriber.complete();
        };
        emit();
      });
    await start({ handler, store: new MemoryRunStore({ logLength: 2 * 1024 * 1024 }) });
    const stalled = await Connection.post(host.url, 'Hello', FULL);
    await eventually(() => finish !== undefined);
    const events = eventsOf(await stalled.readBytes());
    const last = events.at(-1)!;
    expect(JSON.parse(last.data)).toMatchObject({ type: 'x' });
    expect(events.map(({ id }) => Number(id!.split('.')[1]))).toEqual(
      Array.from({ length: events.length }, (_, index) => index + 1),
    );
    expect(events.length).toBeLessThan(40_000);

    const headers = { ...FULL, 'last-event-id': last.id! };
    const gone = await fetch(`${host.url}/query/${stalled.runId}`, { headers });
    expect(gone.status).toBe(410);
    const { oldest, latest } = (await gone.json()) as { oldest: number; latest: number };
    expect(latest).toBe(40_000);
    expect(oldest).toBeGreaterThan(events.length + 1);
    const rest = await Connection.open(`${host.url}/query/${stalled.runId}?after=${oldest - 1}`, {
      headers: FULL,
    });
    finish!();
    expect(eventsOf(await rest.readBytes())).toHaveLength(latest - oldest + 2);
  });

  it('does not keep others waiting, where it never lets go of the event loop by itself', async () => {
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
    // One is read all the time, one has stopped reading, two are not followed at all.
    const reading = await Connection.post(host.url, 'endless');
    reading.response.resume();
    const stalled = await Connection.post(host.url, 'small');
    const detached = await Promise.all(
      ['endless', 'small'].map(async (text) => {
        const named = await post(host.url, text, { headers: { prefer: 'respond-async' } });
        return ((await named.json()) as { id: string }).id;
      }),
    );
    for (let i = 0; i < 5; i++) {
      const answer = await (await post(host.url, 'Hello')).text();
      expect(answerOf(answer)).toEqual({ text: 'Hi', done: [{ status: 'completed' }] });
    }
    for (const id of detached) {
      expect((await fetch(`${host.url}/query/${id}`, { method: 'DELETE' })).status).toBe(200);
    }
    reading.cut();
    stalled.cut();
  });

  it('may also be slow: what an interval emits arrives one by one', async () => {
    await start({ handler: () => interval(1).pipe(map((count) => message(`${count}`))) });
    const asked = await Connection.post(host.url, 'Hello');
    await asked.readUntil('"content":"5"');
    expect((await fetch(`${host.url}/query/${asked.runId}`, { method: 'DELETE' })).status).toBe(200);
    asked.cut();
  });
});
