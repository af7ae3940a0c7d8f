import fc from 'fast-check';
import { Signals } from '../ports/other-processes.js';
import type { LogSlice } from '../ports/run-store.js';
import { EventLog } from './event-log.js';
import { Follower, type Sink } from './follower.js';
import { FollowerGroups } from './follower-groups.js';
import { joinedSlice } from './log-slices.js';
import { UntoldNews } from './untold-news.js';
import { casesOf } from '../../../test/support/long-form.js';

class SharedSignals extends Signals {
  readonly isShared = true;
  send(): void {}
  listen(): void {}
}

const RUN = { id: 'r', owner: 'ann', sessionId: undefined };

/** A run that another process executes: its log, which is read with delays, and what that process tells. */
class RemoteRun implements Sink {
  readonly log = new EventLog();
  readonly appended: string[] = [];
  readonly written: string[] = [];
  readonly ends: number[] = [];
  reads = 0;
  isFull = false;
  readonly follower: Follower;
  #reading: (() => void)[] = [];
  readonly #news = new UntoldNews(RUN, {
    read: (_, after) => this.log.read(after),
    find: () => ({ lastSeq: this.log.last }) as never,
  });

  constructor() {
    const group = new FollowerGroups({
      signals: new SharedSignals(),
      find: () => undefined,
      read: (_, after) => {
        this.reads++;
        return new Promise((resolve) => this.#reading.push(() => resolve(this.log.read(after))));
      },
    }).of(RUN);
    this.#news.skip();
    this.follower = new Follower(0, this, group);
  }

  append(count: number): void {
    for (let i = 0; i < count; i++) {
      this.appended.push(`${this.appended.length + 1} ${'x'.repeat(i * 300)}`);
      this.log.append(this.appended.at(-1)!);
    }
  }

  /** Returns what the other process tells, which may need a read. */
  news(): LogSlice | undefined {
    return this.#news.take();
  }

  tell(slice: LogSlice | undefined): void {
    if (slice) this.follower.offer(slice);
    else this.follower.notify();
  }

  /** The reads that are under way return. */
  async answer(): Promise<void> {
    for (const resolve of this.#reading.splice(0)) resolve();
    for (let i = 0; i < 5; i++) await Promise.resolve();
  }

  async settle(): Promise<void> {
    while (this.#reading.length > 0) await this.answer();
  }

  drain(): void {
    this.isFull = false;
    this.follower.drained();
  }

  write({ first, count, lines }: LogSlice): boolean {
    expect(first).toBe(this.written.length + 1);
    this.written.push(...lines.split('\n'));
    expect(this.written).toHaveLength(first + count - 1);
    return !this.isFull;
  }

  end(): void {
    this.ends.push(this.written.length);
  }

  fail(error: unknown): void {
    throw error;
  }

  disconnect(): void {}
}

describe('A follower of a run that another process executes', () => {
  it('gets each envelope once and in order, whichever signals are lost, late or come twice', async () => {
    const action = fc.oneof(
      fc.record({ append: fc.integer({ min: 1, max: 30 }) }),
      fc.constantFrom('tell', 'tell', 'lose', 'keep', 'tell kept', 'notify', 'answer', 'fill', 'drain'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 60 }), async (actions) => {
        const run = new RemoteRun();
        const kept: (LogSlice | undefined)[] = [];
        run.follower.notify();
        for (const it of actions) {
          if (typeof it === 'object') run.append(it.append);
          else if (it === 'tell') run.tell(run.news());
          else if (it === 'lose') run.news();
          else if (it === 'keep') kept.push(run.news());
          else if (it === 'tell kept') run.tell(kept[0]);
          else if (it === 'notify') run.follower.notify();
          else if (it === 'answer') await run.answer();
          else if (it === 'fill') run.isFull = true;
          else run.drain();
        }
        run.log.append('done');
        run.appended.push('done');
        run.log.end();
        run.drain();
        run.tell(run.news());
        run.follower.notify();
        await run.settle();
        expect(run.written).toEqual(run.appended);
        expect(run.ends).toEqual([run.appended.length]);
      }),
      { numRuns: casesOf(500) },
    );
  });

  it('reads the log once, and then no more as long as no signal is lost', async () => {
    const run = new RemoteRun();
    run.append(2);
    run.follower.notify();
    run.append(1);
    run.tell(run.news());
    await run.settle();
    for (let i = 0; i < 100; i++) {
      run.append(1 + (i % 5));
      run.tell(run.news());
    }
    expect(run.written).toEqual(run.appended);
    expect(run.reads).toBe(1);
  });

  it('reads on, although a signal comes late and twice while it reads', async () => {
    const run = new RemoteRun();
    run.append(1);
    const late = run.news();
    run.append(30);
    for (let i = 0; i < 10; i++) run.append(10);
    run.follower.notify();
    run.tell(late);
    run.tell(late);
    await run.settle();
    expect(run.reads).toBeGreaterThan(1);
    expect(run.written).toEqual(run.appended);
  });

  it('reads what is too long for a signal', async () => {
    const run = new RemoteRun();
    run.follower.notify();
    await run.settle();
    run.append(30);
    expect(run.news()).toBeUndefined();
    run.append(1);
    expect(run.news()).toMatchObject({ first: 31, count: 1 });
    run.follower.notify();
    await run.settle();
    expect(run.written).toEqual(run.appended);
  });
});

describe('Slices of a log', () => {
  const slice = (first: number, lines: string[]): LogSlice => ({
    ...{ first, count: lines.length, lines: lines.join('\n'), ended: false },
    endOffset: first + lines.length,
  });

  it('are joined if one follows the other, also if one of them is empty', () => {
    expect(joinedSlice(slice(1, ['a', 'b']), slice(3, ['c']))).toEqual(slice(1, ['a', 'b', 'c']));
    expect(joinedSlice(slice(3, []), slice(3, ['c']))).toEqual(slice(3, ['c']));
    expect(joinedSlice(slice(3, ['c']), slice(4, []))).toEqual(slice(3, ['c']));
    expect(joinedSlice(slice(1, ['a']), slice(3, ['c']))).toBeUndefined();
    expect(joinedSlice(slice(1, ['a']), slice(1, ['a']))).toBeUndefined();
    expect(joinedSlice(slice(1, ['a'.repeat(40_000)]), slice(2, ['b'.repeat(40_000)]))).toBeUndefined();
  });
});
