import { ProcessSlots } from './process-slots.js';

const { signal: never } = new AbortController();

describe('The slots of processes', () => {
  it('are granted in the order in which they were asked for', async () => {
    const slots = new ProcessSlots(1);
    expect(slots.isFree).toBe(true);
    const order: number[] = [];
    const taken = [1, 2, 3].map((number) => slots.take(never).then(() => void order.push(number)));
    await taken[0];
    expect([slots.isFree, order]).toEqual([false, [1]]);
    slots.release();
    await taken[1];
    slots.release();
    await taken[2];
    expect(order).toEqual([1, 2, 3]);
  });

  it('are not for who has left, and free again when all were released', async () => {
    const slots = new ProcessSlots(1);
    const leaving = new AbortController();
    expect(await slots.take(never)).toBe(true);
    const second = slots.take(leaving.signal);
    leaving.abort();
    expect(await second).toBe(false);
    expect(await slots.take(leaving.signal)).toBe(false);
    slots.release();
    expect(slots.isFree).toBe(true);
  });
});
