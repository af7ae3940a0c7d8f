import fc from 'fast-check';
import { casesOf } from '../../../test/support/long-form.js';
import { eventually } from '../../../test/support/conditions.js';
import { QueryError } from '../contract/errors.js';
import { type Transfer, Transfers } from './transfers.js';

const LIMIT = 1_000;

/** What processes have reserved in a store that they share. */
class SharedStore {
  readonly #reserved = new Map<number, number>();
  asked = 0;

  get reserved(): number {
    return [...this.#reserved.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  reserveFor(process: number) {
    return async (_: string, bytes: number, maxBytes: number): Promise<boolean> => {
      this.asked++;
      await Promise.resolve();
      const others = this.reserved - (this.#reserved.get(process) ?? 0);
      if (bytes > 0 && others + bytes > maxBytes) return false;
      this.#reserved.set(process, bytes);
      return true;
    };
  }
}

const codeOf = (error: unknown) => (error as QueryError).code;

describe('The bytes of files in transit', () => {
  it('are never more than the limit in all processes together, and can all be used again', async () => {
    const step = fc.record({
      process: fc.nat(2),
      bytes: fc.integer({ min: 1, max: LIMIT }),
      ends: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const store = new SharedStore();
        const processes = [0, 1, 2].map((index) => new Transfers(LIMIT, store.reserveFor(index)));
        const open = new Map<Transfer, number>();
        for (const { process, bytes, ends } of steps) {
          const transfer = processes[process]!.begin('ann');
          try {
            await transfer.count(bytes);
            open.set(transfer, bytes);
          } catch (error) {
            expect(codeOf(error)).toBe('rate_limited');
            transfer.end();
          }
          expect([...open.values()].reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(LIMIT);
          expect(store.reserved).toBeLessThanOrEqual(LIMIT);
          const [first] = open.keys();
          if (!ends || !first) continue;
          first.end();
          open.delete(first);
        }
        for (const transfer of open.keys()) transfer.end();
        for (const process of processes) process.close();
      }),
      { numRuns: casesOf(200) },
    );
  });

  it('are reserved ahead, so that small files ask the store rarely, and given back when nobody uses them', async () => {
    const store = new SharedStore();
    const [one, two] = [0, 1].map((process) => new Transfers(LIMIT, store.reserveFor(process)));
    for (let query = 0; query < 50; query++) {
      const transfer = one!.begin('ann');
      await transfer.count(10);
      transfer.end();
    }
    expect(store.asked).toBe(1);
    await eventually(() => store.reserved === 0);
    const transfer = two!.begin('ann');
    await transfer.count(LIMIT);
    expect(store.reserved).toBe(LIMIT);
    transfer.end();
    await eventually(() => store.reserved === 0);
  });

  it('of a query that has ended while the store was asked are given back', async () => {
    const store = new SharedStore();
    const transfers = new Transfers(LIMIT, store.reserveFor(0));
    const cut = transfers.begin('ann');
    const counted = cut.count(LIMIT);
    cut.end();
    await counted;
    const next = transfers.begin('ann');
    await next.count(LIMIT);
    next.end();
    await eventually(() => store.reserved === 0);
  });

  it('are not counted while the store cannot be asked: the query is refused', async () => {
    const outage = new QueryError('unavailable', 'The store cannot be reached.', { retryAfter: 1 });
    const transfers = new Transfers(LIMIT, () => Promise.reject(outage));
    const transfer = transfers.begin('ann');
    await expect(transfer.count(1)).rejects.toBe(outage);
    transfer.end();
    transfers.close();
  });

  it('of one process need no store', () => {
    const transfers = new Transfers(LIMIT);
    const [first, second] = [transfers.begin('ann'), transfers.begin('ann')];
    expect(first.count(LIMIT)).toBeUndefined();
    expect(() => second.count(1)).toThrow('The files of your queries that have not ended are larger');
    first.end();
    expect(second.count(1)).toBeUndefined();
    second.end();
  });
});
