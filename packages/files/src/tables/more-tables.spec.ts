import { jest } from '@jest/globals';
import type { FileSource } from '../file-source.js';
import type { moreTables as MoreTables, readMore as ReadMore } from './more-tables.js';

const FILE: FileSource = {
  name: 'a.xls',
  mimeType: '',
  size: 1,
  read: () => Promise.resolve(new Uint8Array([9])),
  checkTime: () => undefined,
};

/** The functions, where the import of the package has this result. */
async function withPackage(imported: () => object) {
  jest.resetModules();
  jest.unstable_mockModule('nest-agent-query-more-files', imported);
  return (await import('./more-tables.js')) as { moreTables: typeof MoreTables; readMore: typeof ReadMore };
}

function reader(readTableFile: () => Promise<unknown>): () => object {
  return () => ({ readTableFile });
}

function named(message: string): Error {
  return Object.assign(new Error(message), { name: 'UnreadableTableFile' });
}

describe('The package of further formats', () => {
  it('is not needed', async () => {
    const { moreTables, readMore } = await withPackage(() => {
      throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
    });
    expect(await readMore(FILE)).toBeUndefined();
    expect(await moreTables(FILE)).toEqual([]);
  });

  it('names the columns of a table, or leaves it to the agent', async () => {
    const table = (columns?: string[]) => ({
      name: undefined,
      ...(columns && { columns }),
      notes: ['Known before.'],
      async *rows(notes: string[]) {
        yield ['a', 'b'];
        yield ['1', null];
        notes.push('Known at the end.');
      },
    });
    const tables = [table(), table(['x', 'y'])];
    const { moreTables } = await withPackage(reader(async () => ({ title: '', facts: [], tables })));
    const [first, second] = await Promise.all((await moreTables(FILE)).map((source) => source.small!()));
    expect(first!.columns.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(first!.rows).toBe(1);
    expect(second!.columns.map(({ name }) => name)).toEqual(['x', 'y']);
    expect(second!.rows).toBe(2);
    expect(second!.notes).toEqual(['Known before.', 'Known at the end.']);
  });

  it('says why a file cannot be read, at once or while its rows are read', async () => {
    const { moreTables, readMore } = await withPackage(reader(() => Promise.reject(named('It is broken.'))));
    await expect(readMore(FILE)).rejects.toMatchObject({ name: 'UnreadableFile', message: 'It is broken.' });
    expect((await moreTables(FILE))[0]!.fault).toBe('cannot be read: It is broken');
    const rows = async function* () {
      yield ['a'];
      throw named('It ends too early.');
    };
    const tables = [{ name: 'S', notes: [], rows }];
    const late = await withPackage(reader(async () => ({ title: '', facts: [], tables })));
    await expect((await late.moreTables(FILE))[0]!.small!()).rejects.toMatchObject({
      name: 'UnreadableFile',
      message: 'It ends too early.',
    });
  });
});
