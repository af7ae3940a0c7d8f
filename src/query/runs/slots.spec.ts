import fc from 'fast-check';
import { type Deferred, deferred } from '../../../test/support/conditions.js';
import { casesOf } from '../../../test/support/long-form.js';
import { ticks } from '../../../test/support/slow-run-store.js';
import { type Awaitable, isThenable } from '../ports/file-store.js';
import { type Slot, Slots } from './slots.js';

const STEPS = [
  'admit',
  'wait',
  'answer',
  'release',
  'pause',
  'releaseAgain',
  'hold',
  'look',
  'close',
] as const;

/** What happens, and a number that chooses among the slots that are held at that time. */
const step = fc.tuple(
  fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...STEPS.slice(0, -1)) }, fc.constant('close' as const)),
  fc.nat(99),
);

/** Slots, the store that they ask, and what has them. */
class Watched {
  readonly slots: Slots<string>;
  readonly held = new Set<Slot>();
  /** Those of handlers that execute in any case. */
  readonly forced = new Set<Slot>();
  readonly released: Slot[] = [];
  /** How many runs wait in the store. */
  waiting = 0;
  /** How many runs the store is asked for. */
  asked: { count: number; answer: Deferred<string[]> } | undefined;
  /** Admissions that have not learnt whether they get a slot. */
  admissions = 0;
  /** How many look for a free slot, and have not found one. */
  looking = 0;
  isClosed = false;

  constructor(
    readonly count: number,
    readonly isLate: boolean,
  ) {
    this.slots = new Slots(
      count,
      (most) => this.take(most),
      (_, slot) => void this.held.add(slot),
    );
  }

  take(count: number): Awaitable<string[]> {
    expect(this.asked).toBeUndefined();
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(this.count - this.held.size - this.admissions);
    if (!this.isLate) return this.taken(count);
    this.asked = { count, answer: deferred<string[]>() };
    return this.asked.answer.promise;
  }

  taken(count: number): string[] {
    const runs = Array<string>(Math.min(count, this.waiting)).fill('run');
    this.waiting -= runs.length;
    return runs;
  }

  do(what: (typeof STEPS)[number], which: number): void {
    const { slots, held, forced, released } = this;
    const chosen = [...held][which % held.size];
    switch (what) {
      case 'admit': {
        const slot = slots.reserve();
        if (!isThenable(slot)) return void (slot && held.add(slot));
        this.admissions++;
        return void slot.then((reserved) => {
          this.admissions--;
          if (reserved) held.add(reserved);
        });
      }
      case 'wait':
        this.waiting++;
        return slots.ready();
      case 'answer': {
        const { asked } = this;
        this.asked = undefined;
        return asked?.answer.resolve(this.taken(asked.count));
      }
      case 'hold': {
        const slot = slots.hold();
        held.add(slot);
        return void forced.add(slot);
      }
      case 'look':
        this.looking++;
        return void slots.freeSlot().then(() => this.looking--);
      case 'close':
        this.isClosed = true;
        return void slots.close();
      case 'releaseAgain':
        return released[which % released.length]?.release();
      default:
        if (!chosen) return;
        held.delete(chosen);
        forced.delete(chosen);
        released.push(chosen);
        return what === 'pause' ? slots.ready(chosen) : chosen.release();
    }
  }

  check(): void {
    const { slots, held, forced, count, asked, isClosed } = this;
    const kept = held.size + (asked?.count ?? 0);
    expect(slots.free).toBe(Math.max(0, count - kept));
    expect(kept - forced.size).toBeLessThanOrEqual(count);
    for (const slot of held) expect(slot.isReleased).toBe(false);
    if (asked || isClosed) return;
    expect(this.admissions).toBe(0);
    if (slots.free === 0) return;
    expect([this.waiting, slots.hasReady, this.looking]).toEqual([0, false, 0]);
  }
}

describe('The slots of a process', () => {
  it('are each free or held once, and none stays free while a run waits', async () => {
    const steps = fc.array(step, { maxLength: 60 });
    const isHeld = fc.asyncProperty(fc.nat(4), fc.boolean(), steps, async (count, isLate, all) => {
      const watched = new Watched(count, isLate);
      for (const [what, which] of all) {
        watched.do(what, which);
        // Some steps happen at the same time.
        if (which % 4 === 0) continue;
        await ticks(1);
        watched.check();
      }
    });
    await fc.assert(isHeld, { numRuns: casesOf(2_000) });
  });

  it('are not given to runs that wait before an admission that waits for the answer of the store', async () => {
    const watched = new Watched(1, true);
    watched.do('wait', 0);
    watched.do('admit', 0);
    watched.do('wait', 0);
    watched.waiting = 0;
    watched.do('answer', 0);
    watched.waiting = 1;
    await ticks(1);
    expect([watched.held.size, watched.asked, watched.waiting]).toEqual([1, undefined, 1]);
  });
});
