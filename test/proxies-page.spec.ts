import {
  cellsOf,
  differences,
  headingsOf,
  rowOf,
  rowsIn,
  settingsText,
  withLegend,
  withRows,
} from './matrix/proxies/table.js';
import { PROXIES } from './matrix/proxies/programs.js';
import { TABLES } from './matrix/proxies/tables.js';
import { type Column, unknownWords } from './matrix/proxies/words.js';
import { codeBlocks, read } from './support/documents.js';

const PAGE = 'docs/proxies.md';

describe.each(Object.entries(TABLES))('The table of %s', (table, head) => {
  const { columns, programs } = head;
  const rows = rowsIn(read(PAGE), table);

  it('has the programs that are measured, in their order', () => {
    expect(rows.map(([name]) => name)).toEqual(programs.map(({ name }) => name));
  });

  it('has a version, and in each cell words that the page explains', () => {
    const wrong = rows.flatMap(([name, version, ...cells]) => [
      ...(/^\d+(\.\d+)+$/.test(version!) ? [] : [`${name}: Version: ${version}`]),
      ...Object.values(columns).flatMap((column, index) =>
        unknownWords(column, cells[index] ?? '').map((word) => `${name}: ${column.heading}: ${word}`),
      ),
    ]);
    expect(wrong).toEqual([]);
    expect(rows.map(({ length }) => length)).toEqual(rows.map(() => headingsOf(head).length));
  });

  it('says to set what was set when it was measured', () => {
    expect(rows.map((cells) => [cells[0], cells.at(-1)])).toEqual(
      programs.map((program) => [program.name, settingsText(program)]),
    );
  });

  it('has settings that change what was measured', () => {
    const changed = rows.filter((cells) => cells.join().includes(' → ')).map(([name]) => name);
    expect(changed).toEqual(programs.filter(({ settings }) => settings.length > 0).map(({ name }) => name));
  });

  it('has every word explained', () => {
    const inWords = (text: string) => text.split(/\s+/);
    expect(inWords(read(PAGE))).toEqual(inWords(withLegend(read(PAGE), table, columns)));
  });
});

describe('The settings that are measured', () => {
  const oneLine = (text: string) => text.replace(/#.*/g, '').replace(/\s+/g, ' ');
  const blocks = codeBlocks('docs/deployment.md');
  const LANGUAGES: Record<string, string> = { varnish: 'vcl' };

  it.each(['nginx', 'haproxy', 'lighttpd', 'varnish', 'squid'])('are in the recipe: %s', (key) => {
    const { settings } = PROXIES.find((proxy) => proxy.key === key)!;
    const { code } = blocks.find(({ language }) => language === (LANGUAGES[key] ?? key))!;
    const recipe = oneLine(code);
    expect(settings.length).toBeGreaterThan(0);
    expect(settings.filter((line) => !recipe.includes(line))).toEqual([]);
  });
});

describe('A row of a table', () => {
  const first: Column = {
    heading: 'First event',
    words: { late: 'it is late', 'at once': 'it is not late' },
  };
  const idle: Column = { heading: 'Idle cut', words: { 'N s': 'it is cut', '> N s': 'it is not cut' } };
  const head = { first: 'Proxy', columns: { first, idle } };
  const plain = { first: 'late', idle: '30 s' };
  const row = rowOf({ name: 'relay', settings: ['buffer off'], within: 'location' }, '1.2', plain, {
    ...plain,
    first: 'at once',
  });
  const text = '<!-- relays -->\n<!-- end -->';

  it('has what the settings change, and what stays', () => {
    expect(cellsOf(row, head.columns)).toEqual([
      'relay',
      '1.2',
      'late → at once',
      '30 s',
      'in `location`: `buffer off`',
    ]);
  });

  it('is read as it was written', () => {
    const cells = cellsOf(row, head.columns);
    expect(rowsIn(withRows(text, 'relays', head, [cells]), 'relays')).toEqual([cells]);
  });

  it('differs where a cell of the document is another one, or is missing', () => {
    const other = cellsOf({ ...row, version: '1.1', plain: { ...plain, idle: '60 s' } }, head.columns);
    expect(differences(withRows(text, 'relays', head, [other]), 'relays', head, [row])).toEqual([
      { name: 'relay', heading: 'Version', cell: '1.2', documented: '1.1' },
      { name: 'relay', heading: 'Idle cut', cell: '30 s', documented: '60 s → 30 s' },
    ]);
    expect(differences(text, 'relays', head, [row])).toHaveLength(5);
  });

  it('has unknown words if one of two is unknown, and if it is empty', () => {
    expect(unknownWords(first, 'late → perhaps')).toEqual(['perhaps']);
    expect(unknownWords(first, '')).toEqual(['']);
    expect(unknownWords(idle, '30 s → > 65 s')).toEqual([]);
  });
});
