import { FairQueue } from './fair-queue.js';

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
