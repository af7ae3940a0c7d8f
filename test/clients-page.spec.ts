import { faultsIn, withFaults } from './clients/faults.js';
import { TABLES } from './clients/tables.js';
import { COLUMNS, unknownWordsIn } from './clients/words.js';
import { headingsOf, rowsIn, settingsText, withLegend } from './matrix/proxies/table.js';
import { read } from './support/documents.js';

const PAGE = 'docs/clients.md';
const page = read(PAGE);

/** The versions of the manifest, by the names under which the clients are installed. */
const { dependencies } = JSON.parse(read('test/clients/package.json')) as {
  dependencies: Record<string, string>;
};
const versionOf = (name: string) => dependencies[name]?.replace(/^npm:.*@/, '');

const inWords = (text: string) => text.split(/\s+/);

describe.each(Object.entries(TABLES))('The table of %s', (table, head) => {
  const { columns, clients } = head;
  const rows = rowsIn(page, table);

  it('has the clients that are asked, in their order', () => {
    expect(rows.map(([name]) => name)).toEqual(clients.map(({ name }) => name));
  });

  it('has the versions of the manifest', () => {
    const pinned = clients.filter(({ packages }) => packages.every((name) => versionOf(name)));
    const versions = new Map(rows.map(([name, version]) => [name, version]));
    const ofManifest = pinned.filter(({ packages }) => packages.length > 0);
    expect(ofManifest.map(({ name }) => [name, versions.get(name)])).toEqual(
      ofManifest.map(({ name, packages }) => [name, packages.map(versionOf).join(', ')]),
    );
  });

  it('has in each cell words that the page explains', () => {
    const wrong = rows.flatMap(([name, , ...cells]) =>
      Object.values(columns).flatMap((column, index) =>
        unknownWordsIn(column, cells[index] ?? '').map((word) => `${name}: ${column.heading}: ${word}`),
      ),
    );
    expect(wrong).toEqual([]);
    expect(rows.map(({ length }) => length)).toEqual(rows.map(() => headingsOf(head).length));
  });

  it('says to set what was set when it was seen', () => {
    expect(rows.map((cells) => [cells[0], cells.at(-1)])).toEqual(
      clients.map((client) => [client.name, settingsText(client)]),
    );
  });

  it('has settings that change what was seen', () => {
    const changed = rows.filter((cells) => cells.join().includes(' → ')).map(([name]) => name);
    expect(changed).toEqual(clients.filter(({ settings }) => settings.length > 0).map(({ name }) => name));
  });
});

describe('The page of clients', () => {
  it('has every word explained', () => {
    expect(inWords(page)).toEqual(inWords(withLegend(page, 'clients', COLUMNS)));
  });

  it('lists the faults that its tables show', () => {
    expect(rowsIn(page, 'faults')).toEqual(faultsIn(page));
  });

  it('has no client that executes the agent twice with what is to be set, or asks on', () => {
    const wrong = faultsIn(page).filter(([, column]) =>
      /^(?:Runs of the agent|After the end)$/.test(column!),
    );
    expect(wrong).toEqual([]);
  });

  it("shows no fault of the project's own client", () => {
    expect(faultsIn(page).filter(([name]) => name === 'nest-agent-query-client')).toEqual([]);
  });
});

describe('A fault', () => {
  const row = rowsIn(page, 'readers').find(([name]) => name === 'nest-agent-query-client')!;
  const withCell = (column: string, cell: string) => {
    const index = headingsOf(TABLES['readers']!).indexOf(column);
    return page.replace(/\| nest-agent-query-client .*/, `| ${row.with(index, cell).join(' | ')} |`);
  };
  const faults = (column: string, cell: string) =>
    faultsIn(withCell(column, cell)).filter(([name]) => name === 'nest-agent-query-client');

  it.each(['again: reset, cut', 'once → again: cut'])('is a second run of the agent: %s', (cell) => {
    expect(faults('Runs of the agent', cell)).toHaveLength(1);
  });

  it('is none where the settings help, and where an error has no reason', () => {
    expect(faults('Runs of the agent', 'again: reset → once')).toEqual([]);
    expect(faults('Errors shown', 'no reason: key')).toEqual([]);
  });

  it('is written with its column and its cell', () => {
    const text = withFaults(withCell('After the end', 'asks on'));
    expect(rowsIn(text, 'faults')).toContainEqual([
      ...['nest-agent-query-client', 'After the end', 'asks on', '–'],
    ]);
  });
});
