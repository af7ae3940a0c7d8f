import fc from 'fast-check';
import { FairQueue } from './fair-queue.js';
import { OwnerTurns } from './owner-turns.js';

describe('FairQueue', () => {
  const item = (owner: string, runId: string, name: string, size = 0) => ({ owner, runId, name, size });

  function orderOf(queue: FairQueue<ReturnType<typeof item>>): string[] {
    const order: string[] = [];
    for (let next = queue.take(); next; next = queue.take()) order.push(next.name);
    return order;
  }

  it('gives turns to owners, within an owner to runs, and within a run in order', () => {
    const queue = new FairQueue<ReturnType<typeof item>>();
    for (const name of ['a1', 'a2', 'a3']) queue.add(item('ada', 'a', name));
    for (const name of ['b1', 'b2']) queue.add(item('ada', 'b', name));
    queue.add(item('grace', 'c', 'c1'));
    expect(orderOf(queue)).toEqual(['a1', 'c1', 'b1', 'a2', 'b2', 'a3']);
    expect(queue.size).toBe(0);
  });

  it('gives a small file of a run its turn before the large files of many other runs', () => {
    const queue = new FairQueue<ReturnType<typeof item>>();
    for (let run = 0; run < 20; run += 1) queue.add(item('ada', `large ${run}`, 'large', 1_000_000));
    for (let round = 0; round < 10; round += 1) {
      queue.add(item('ada', `small ${round}`, 'small', 100));
      expect([queue.take()?.name, queue.take()?.name]).toEqual(['small', 'large']);
    }
  });

  it('gives a large file its turn although small files of other runs keep coming', () => {
    const queue = new FairQueue<ReturnType<typeof item>>();
    queue.add(item('ada', 'large', 'large', 1_000_000));
    let turns = 0;
    do {
      turns += 1;
      queue.add(item('ada', `small ${turns}`, 'small', 100));
    } while (queue.take()!.name === 'small' && turns < 100);
    expect(turns).toBeGreaterThan(5);
    expect(turns).toBeLessThan(50);
  });

  it('lets nobody wait for more than one item of each other owner', () => {
    const owner = fc.constantFrom('ada', 'grace', 'alan', 'kurt');
    fc.assert(
      fc.property(fc.array(fc.option(owner, { freq: 2 }), { maxLength: 60 }), (steps) => {
        const queue = new FairQueue<ReturnType<typeof item>>();
        // For each owner who waits, the one whose item was worked on when they came, and those who had a turn since.
        let last: string | undefined;
        const passed = new Map<string, string[]>();
        const waiting = new Map<string, number>();
        for (const step of steps) {
          if (step !== null) {
            queue.add(item(step, 'run', 'item'));
            waiting.set(step, (waiting.get(step) ?? 0) + 1);
            if (!passed.has(step)) passed.set(step, last === undefined || last === step ? [] : [last]);
            continue;
          }
          const taken = queue.take()?.owner;
          expect(taken === undefined).toBe(waiting.size === 0);
          if (taken === undefined) continue;
          last = taken;
          const left = waiting.get(taken)! - 1;
          if (left > 0) waiting.set(taken, left);
          else waiting.delete(taken);
          passed.delete(taken);
          for (const [other, turns] of passed) {
            expect(turns).not.toContain(taken);
            if (other !== taken) turns.push(taken);
          }
          if (left > 0) passed.set(taken, []);
        }
      }),
    );
  });

  it('gives turns to the owners of two queues together', () => {
    const turns = new OwnerTurns();
    const [fresh, postponed] = [new FairQueue(turns), new FairQueue(turns)];
    for (const name of ['a1', 'a2', 'a3']) fresh.add(item('ada', 'a', name));
    const first = fresh.take()!;
    fresh.take();
    postponed.add(first);
    postponed.add(item('grace', 'b', 'b1'));
    expect(orderOf(postponed as FairQueue<ReturnType<typeof item>>)).toEqual(['b1', 'a1']);
  });

  it('gives no turn to what was removed', () => {
    const queue = new FairQueue<ReturnType<typeof item>>();
    const removed = item('ada', 'a', 'a1');
    queue.add(removed);
    queue.add(item('ada', 'b', 'b1'));
    queue.remove(removed);
    queue.remove(removed);
    expect([queue.size, queue.take()?.name, queue.take()]).toEqual([1, 'b1', undefined]);
  });
});
