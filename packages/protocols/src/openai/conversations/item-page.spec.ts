import { itemPageOf, listOf } from './item-page.js';

/** Three items of more than half a page each. */
const ITEMS = ['a', 'b', 'c'].map((id) => ({ id, type: 'message', text: 'x'.repeat(600_000) }));

describe('A page of items of OpenAI', () => {
  it('has at most about one Mi characters, and says that more follow', async () => {
    const ids = async (query: object) => {
      const { data, has_more: hasMore } = await listOf(ITEMS, itemPageOf({ order: 'asc', ...query }));
      return [data.map(({ id }) => id), hasMore];
    };
    expect(await ids({})).toEqual([['a'], true]);
    expect(await ids({ after: 'a' })).toEqual([['b'], true]);
    expect(await ids({ after: 'b' })).toEqual([['c'], false]);
    expect(await ids({ order: 'desc' })).toEqual([['c'], true]);
  });
});
