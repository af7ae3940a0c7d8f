import { QueryError } from '../../query/index.js';
import { deferred } from '../../../test/support/conditions.js';
import { Batches } from './batches.js';

describe('A batch', () => {
  /** Repeats its items; `wait` ends a batch, `fail` makes it fail. */
  const batchesOf = (check: (items: string[]) => void | Promise<void> = () => undefined) => {
    const batches: string[][] = [];
    const work = async (items: string[]) => {
      batches.push(items);
      await check(items);
      return items.map((item) => `${item}!`);
    };
    return { batches, all: new Batches(work, (item) => (item === 'long' ? 8 * 1024 * 1024 : 1)) };
  };

  it('has all items of a tick, and the next one all that come until it has ended', async () => {
    const first = deferred();
    const { batches, all } = batchesOf(() => (batches.length === 1 ? first.promise : undefined));
    const results = ['a', 'b'].map((item) => all.add(item));
    await new Promise(setImmediate);
    results.push(...['c', 'd', 'e'].map((item) => all.add(item)));
    first.resolve();
    expect(await Promise.all(results)).toEqual(['a!', 'b!', 'c!', 'd!', 'e!']);
    expect(batches).toEqual([
      ['a', 'b'],
      ['c', 'd', 'e'],
    ]);
  });

  it('is limited in length', async () => {
    const { batches, all } = batchesOf();
    await Promise.all(['a', 'long', 'long', 'b'].map((item) => all.add(item)));
    expect(batches).toEqual([['a'], ['long'], ['long'], ['b']]);
  });

  it('is tried item by item when it fails, so that only the failing one does', async () => {
    const { batches, all } = batchesOf((items) => {
      if (items.includes('bad')) throw new Error('a bad item');
    });
    const settled = await Promise.allSettled(['a', 'bad', 'b'].map((item) => all.add(item)));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(batches).toEqual([['a', 'bad', 'b'], ['a'], ['bad'], ['b']]);
  });

  it('is not tried again when it is refused', async () => {
    const { batches, all } = batchesOf(() => {
      throw new QueryError('unavailable', 'A refusal.');
    });
    const settled = await Promise.allSettled(['a', 'b'].map((item) => all.add(item)));
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(batches).toEqual([['a', 'b']]);
  });
});
