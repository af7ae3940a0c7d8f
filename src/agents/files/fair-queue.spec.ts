import { FairQueue } from './fair-queue.js';

describe('FairQueue', () => {
  const item = (owner: string, runId: string, name: string) => ({ owner, runId, name });

  it('gives turns to owners, within an owner to runs, and within a run in order', () => {
    const queue = new FairQueue<ReturnType<typeof item>>();
    for (const name of ['a1', 'a2', 'a3']) queue.add(item('ada', 'a', name));
    for (const name of ['b1', 'b2']) queue.add(item('ada', 'b', name));
    queue.add(item('grace', 'c', 'c1'));
    const order: string[] = [];
    for (let next = queue.take(); next; next = queue.take()) order.push(next.name);
    expect(order).toEqual(['a1', 'c1', 'b1', 'a2', 'b2', 'a3']);
    expect(queue.size).toBe(0);
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
