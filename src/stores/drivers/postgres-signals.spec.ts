import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { casesOf } from '../../../test/support/long-form.js';
import { eventually } from '../../../test/support/conditions.js';
import { PostgresStores } from '../../../test/support/postgres-stores.js';
import type { Signal, SignalReceiver } from '../../query/index.js';
import { PostgresDriver } from './postgres-driver.js';
import { PostgresSignals } from './postgres-signals.js';

/** What a process has received. */
class Received implements SignalReceiver {
  readonly signals: Signal[] = [];
  readonly senders = new Set<string>();
  missedCount = 0;

  receive(signal: Signal, from: string): void {
    this.signals.push(signal);
    this.senders.add(from);
  }

  missed(): void {
    this.missedCount++;
  }

  has(runId: string): boolean {
    return this.signals.some((signal) => 'runId' in signal && signal.runId === runId);
  }
}

interface Process {
  signals: PostgresSignals;
  received: Received;
}

const stores = new PostgresStores();
let processes: Process[] = [];
beforeAll(() => {
  Logger.overrideLogger(false);
  return stores.start();
});
afterEach(async () => {
  for (const { signals } of processes) await signals.close();
  processes = [];
});
afterAll(() => stores.close());

const notify = (channel: string) => stores.administer("select pg_notify($1, '')", [channel]);

/** A process that listens; the name tells it from others on the server. */
async function join(channel: string, name = 'listener'): Promise<Process> {
  const connection = { connectionString: stores.url, application_name: name };
  const process = {
    signals: new PostgresSignals(connection, async () => channel, notify),
    received: new Received(),
  };
  processes.push(process);
  await process.signals.listen(process.received);
  return process;
}

/** Ends the connections of the processes with a name. Resolves when the server has ended them. */
async function terminate(name: string): Promise<void> {
  const connections = 'from pg_stat_activity where application_name = $1';
  await stores.administer(`select pg_terminate_backend(pid) ${connections}`, [name]);
}

const newsOf = (runId: string): Signal => ({ type: 'news', runId });

describe('The signals of processes on one database', () => {
  it('reach all other processes, unchanged and in order, and not the sender', async () => {
    const [one, two, three] = [await join('a'), await join('a'), await join('a')];
    const sent: Signal[] = [
      ...(['news', 'started', 'leave', 'detach', 'cancel'] as const).map((type) => ({ type, runId: 'r' })),
      { type: 'follow', runId: 'r', offset: 12_345_678_901 },
      { type: 'ready' },
      newsOf('ä"\\\n\u2028 漢'),
    ];
    for (const signal of sent) one.signals.send(signal);
    await eventually(() => [two, three].every(({ received }) => received.signals.length >= sent.length));
    for (const { received } of [two, three]) expect(received.signals).toEqual(sent);
    two.signals.send(newsOf('back'));
    await eventually(() => one.received.has('back') && three.received.has('back'));
    expect(one.received.signals).toEqual([newsOf('back')]);
    expect(two.received.senders.size).toBe(1);
    expect(three.received.senders.size).toBe(2);
  });

  it('do not reach processes with another channel', async () => {
    const [one, two, foreign] = [await join('a'), await join('a'), await join('b')];
    one.signals.send(newsOf('r'));
    await eventually(() => two.received.has('r'));
    foreign.signals.send(newsOf('other'));
    const witness = await join('b');
    foreign.signals.send(newsOf('last'));
    await eventually(() => witness.received.has('last'));
    expect(foreign.received.signals).toEqual([]);
    expect(two.received.signals).toEqual([newsOf('r')]);
  });

  it('are sent once if they are equal, with the newest offset of a follower', async () => {
    const [one, two] = [await join('a'), await join('a')];
    for (let i = 0; i < 100; i++) {
      one.signals.send(newsOf('r'));
      one.signals.send({ type: 'follow', runId: 'r', offset: i });
      one.signals.send({ type: 'ready' });
    }
    one.signals.send(newsOf('last'));
    await eventually(() => two.received.has('last'));
    expect(two.received.signals).toHaveLength(4);
    expect(two.received.signals).toContainEqual({ type: 'follow', runId: 'r', offset: 99 });
  });

  it('say at last what was said at last, however many there are at once', async () => {
    const [one, two] = [await join('a'), await join('a')];
    const signal = fc.record({
      type: fc.constantFrom('follow' as const, 'leave' as const),
      run: fc.nat({ max: 3 }),
      ticks: fc.constantFrom(0, 0, 0, 1),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(signal, { minLength: 1, maxLength: 40 }), async (sent) => {
        two.received.signals.length = 0;
        const round = randomUUID();
        const last = new Map<string, Signal>();
        for (const [offset, { type, run, ticks }] of sent.entries()) {
          const runId = `${round} ${run}`;
          const it: Signal = type === 'follow' ? { type, runId, offset } : { type, runId };
          one.signals.send(it);
          last.set(runId, it);
          for (let i = 0; i < ticks; i++) await new Promise((resolve) => setImmediate(resolve));
        }
        one.signals.send(newsOf(round));
        await eventually(() => two.received.has(round));
        for (const [runId, it] of last) {
          const ofRun = two.received.signals.filter((other) => 'runId' in other && other.runId === runId);
          expect(ofRun.at(-1)).toEqual(it);
        }
      }),
      { numRuns: casesOf(30) },
    );
  });

  it('are all sent, whenever they come after a statement', async () => {
    const [one, two] = [await join('a'), await join('a')];
    const query = jest.spyOn(pg.Client.prototype, 'query');
    const lastStatement = () => query.mock.results.at(-1)!.value as Promise<unknown>;
    const nextTick = () => new Promise((resolve) => setImmediate(resolve));
    for (let late = 0; late < 12; late++) {
      one.signals.send(newsOf(`before ${late}`));
      await nextTick();
      await lastStatement();
      for (let i = 0; i < late; i++) await Promise.resolve();
      one.signals.send(newsOf(`${late}`));
      await eventually(() => two.received.has(`${late}`));
      // A notification may arrive before the answer to its statement.
      await lastStatement();
      await nextTick();
    }
    query.mockRestore();
  });

  it('carry what is new in a log, together if it is said several times, and without what is too long', async () => {
    const [one, two] = [await join('a'), await join('a')];
    const newsFrom = (first: number, lines: string, runId = 'r'): Signal => ({
      ...{ type: 'news', runId },
      slice: { first, count: lines.split('\n').length, lines, endOffset: first, ended: false },
    });
    const sent = [
      newsFrom(1, '{"a":"ä\\n漢"}'),
      newsFrom(2, '2\n3'),
      newsFrom(5, '5', 'gap'),
      newsFrom(7, '7', 'gap'),
      newsFrom(1, '漢'.repeat(3_000), 'long'),
      newsFrom(1, '"'.repeat(5_000), 'escaped'),
      newsFrom(1, 'x'.repeat(6_000), 'short'),
      newsFrom(1, 'y'.repeat(6_000), 'shorter'),
    ];
    for (const signal of sent) one.signals.send(signal);
    one.signals.send(newsOf('last'));
    await eventually(() => two.received.has('last'));
    expect(two.received.signals).toEqual([
      { ...newsFrom(1, '{"a":"ä\\n漢"}\n2\n3'), slice: expect.objectContaining({ first: 1, count: 3 }) },
      newsFrom(7, '7', 'gap'),
      newsOf('long'),
      newsOf('escaped'),
      newsFrom(1, 'x'.repeat(6_000), 'short'),
      newsFrom(1, 'y'.repeat(6_000), 'shorter'),
      newsOf('last'),
    ]);
  });

  it('are on a channel that only those know who may read the tables', async () => {
    const channels = [];
    for (const schema of ['signals_one', 'signals_two']) {
      const driver = await PostgresDriver.open(new URL(stores.url), { schema });
      const { name } = await driver.db.selectFrom('signal_channel').select('name').executeTakeFirstOrThrow();
      expect(name).toMatch(/^agent_query_[0-9a-f]{32}$/);
      channels.push(name);
      await driver.close();
    }
    expect(channels[0]).not.toBe(channels[1]);
  });

  it('are split where they exceed a notification', async () => {
    const [one, two] = [await join('a'), await join('a')];
    const runIds = Array.from({ length: 2_000 }, () => randomUUID());
    const longest = Array.from({ length: 200 }, (_, index) => `${index}`.padEnd(100, 'x'));
    for (const runId of [...runIds, ...longest]) one.signals.send(newsOf(runId));
    await eventually(() => two.received.signals.length >= runIds.length + longest.length);
    expect(two.received.signals).toEqual([...runIds, ...longest].map(newsOf));
  });

  it('are received again after the server has ended the connection, and the process is told what it may have missed', async () => {
    const [one, two] = [await join('a', 'healthy'), await join('a', 'ill')];
    expect([one.received.missedCount, two.received.missedCount]).toEqual([1, 1]);
    for (let round = 2; round <= 4; round++) {
      await terminate('ill');
      await eventually(() => two.received.missedCount === round);
      one.signals.send(newsOf(`${round}`));
      await eventually(() => two.received.has(`${round}`));
      two.signals.send(newsOf(`back ${round}`));
      await eventually(() => one.received.has(`back ${round}`));
    }
    expect(one.received.missedCount).toBe(1);
  });

  it('may be lost while there is no connection, but never stop for that', async () => {
    const [one, two] = [await join('a', 'ill'), await join('a', 'healthy')];
    await terminate('ill');
    for (let i = 0; i < 10; i++) one.signals.send(newsOf('lost or not'));
    await eventually(() => one.received.missedCount === 2);
    one.signals.send(newsOf('after'));
    await eventually(() => two.received.has('after'));
  });

  it('are not sent by a process that does not listen yet, or that has closed', async () => {
    const one = await join('a');
    const silent = new PostgresSignals({ connectionString: stores.url }, async () => 'a', notify);
    silent.send(newsOf('silent'));
    const two = await join('a');
    two.signals.send(newsOf('last words'));
    await two.signals.close();
    two.signals.send(newsOf('closed'));
    const witness = await join('a');
    witness.signals.send(newsOf('end'));
    await eventually(() => one.received.has('end'));
    expect(one.received.signals).toEqual([newsOf('last words'), newsOf('end')]);
    await silent.close();
  });

  it('ignore what others send on their channel', async () => {
    const [one, two] = [await join('a'), await join('a')];
    for (const payload of [
      '',
      'not JSON',
      '{}',
      '[]',
      'null',
      '5',
      '["x"]',
      '["x",null]',
      '["x",{"type":"unknown"}]',
    ])
      await stores.administer('select pg_notify($1, $2)', ['a', payload]);
    two.signals.send(newsOf('end'));
    await eventually(() => one.received.has('end'));
    // A newer version may have other types; the service ignores those.
    expect(one.received.signals).toEqual([{ type: 'unknown' }, newsOf('end')]);
  });
});
