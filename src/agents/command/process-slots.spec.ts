import { ProcessSlots } from './process-slots.js';

describe('The slots of processes', () => {
  it('are granted in the order in which they were asked for', async () => {
    const slots = new ProcessSlots(2);
    const taken = [1, 2, 3, 4, 5].map(() => slots.take());
    const granted = () => taken.map(({ isGranted }) => isGranted);
    expect(granted()).toEqual([true, true, false, false, false]);
    taken[1]!.release();
    await taken[2]!.granted;
    expect(granted()).toEqual([true, true, true, false, false]);
    taken[3]!.release();
    taken[0]!.release();
    expect(granted()).toEqual([true, true, true, false, true]);
  });

  it('are free again when all were released', () => {
    const slots = new ProcessSlots(1);
    const [first, second] = [slots.take(), slots.take()];
    second.release();
    first.release();
    expect(slots.take().isGranted).toBe(true);
    expect(slots.take().isGranted).toBe(false);
  });
});
