import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import Database from 'libsql';
import { answerOf, filePart } from '../../../../test/support/files-agent.js';
import { eventually } from '../../../../test/support/conditions.js';
import { FilesHandler, FilesLimits } from '../index.js';
import { RequestedFile } from '../requested-file.js';
import { queryTables } from './query-tables.js';
import { Workspace } from './workspace.js';

const HEADER = 'the first line names the columns';

/** Directories that processes of this agent keep files in. */
function workspaces(): string[] {
  return readdirSync(tmpdir()).filter((name) => /^nest-agent-query-[0-9a-f]{8}-/.test(name));
}

describe('Tables', () => {
  let handler: FilesHandler;
  let folder: string;

  beforeAll(async () => {
    handler = new FilesHandler();
    folder = await mkdtemp(join(tmpdir(), 'nest-agent-query-tables-'));
  });

  afterAll(async () => {
    await handler.onApplicationShutdown();
    await rm(folder, { recursive: true });
  });

  const describeOne = (name: string, content: string | Uint8Array) =>
    answerOf(handler, [filePart(name, content)]);

  it.each([
    [
      'a header row with years',
      'country,2019,2020\nFI,5.5,5.6\n',
      [`1 row of 3 columns`, HEADER, '| `2019` | number |'],
    ],
    ['no header row', 'ada,12\ngrace,13\n', ['2 rows of 2 columns', 'no line of column names']],
    [
      'dates that are ambiguous',
      'day,x\n03/04/2024,1\n05/06/2024,2\n',
      ['| `day` | text (dates; which number is the day is not certain) | 0 | 2 |'],
    ],
    [
      'days first',
      'day\n03/04/2024\n25/06/2024\n',
      ['| `day` | date (day first) | 0 | 2 | `2024-04-03` | `2024-06-25` |'],
    ],
    [
      'months first',
      'day\n03/04/2024\n06/25/2024\n',
      ['| `day` | date (month first) | 0 | 2 | `2024-03-04` |'],
    ],
    [
      'NA among texts and among numbers',
      'code,people\nNA,2.5\nFI,NA\n',
      ['| `code` | text | 0 | 2 |', '| `people` | number | 1 | 1 |', '1 cell such as `NA`'],
    ],
    [
      'comment lines',
      '# made by x, on y\n# more\nid,name\n1,ada\n',
      ['1 row of 2 columns', HEADER, '2 comment lines'],
    ],
    [
      'a stated separator',
      'sep=;\r\na;b\r\n1;2\r\n',
      ['1 row of 2 columns, separated by semicolons', HEADER],
    ],
    ['zeros in front', 'code\n00123\n04109\n', ['| `code` | text | 0 | 2 |']],
    [
      'decimal commas',
      'a;b\n1,5;x\n2,25;y\n',
      ['| `a` | number (decimal comma) | 0 | 2 | `1.5` | `2.25` | 1.875 |'],
    ],
    [
      'commas between thousands',
      'a\n"1,234.5"\n12\n',
      ['| `a` | number (comma between thousands) | 0 | 2 | `12` | `1234.5` |'],
    ],
    ['days that do not exist', 'a\n2024-02-30\n2023-12-31\n', ['| `a` | text | 0 | 2 |']],
    ['versions', 'a\n1.2.3\n1.10.4\n', ['| `a` | text | 0 | 2 |']],
    ['years of two digits', 'a\n03/04/24\n25/06/24\n', ['| `a` | text | 0 | 2 |']],
    [
      'times with an offset',
      'at\n2024-01-01T10:00:00+02:00\n2024-01-01T09:00:00.5Z\n2024-01-01\n',
      ['| `at` | date and time | 0 | 3 | `2024-01-01 00:00:00` | `2024-01-01 09:00:00.5` |'],
    ],
    ['repeated texts', 'a\nx\ny\nx\n', ['| `a` | text | 0 | 2 |  |  |  | `x` (2), `y` (1) |']],
    ['names that are the same', 'a,A,\n1,2,3\n', ['`A_2`', '`column_3`']],
    ['rows that are short or long', 'a,b\n1,2\n1,2,3\n4\n', ['3 rows of 3 columns', '`column_3`']],
    ['mixed line breaks', 'a,b\r\n1,2\n3,"x\r\ny"\r\n', ['2 rows of 2 columns']],
    ['no rows', 'a,b\n', ['0 rows of 2 columns']],
  ])('are read with %s', async (_what, content, said) => {
    const answer = await describeOne('a.csv', content);
    for (const sentence of said) expect(answer).toContain(sentence);
  });

  it('say which rows are left out', async () => {
    const rows = Array.from({ length: 20_000 }, (_, index) => `${index},x\n`).join('');
    const answer = await describeOne('a.csv', `a,b\n${rows}1,2,3\n7,y\n`);
    expect(answer).toContain('20,001 rows of 2 columns');
    expect(answer).toContain('1 row left out, with more than 2 cells or wrong quotes: row 20,002');
  });

  it('say which quote is never closed, and have the rows before it', async () => {
    const answer = await describeOne('a.csv', 'a,b\n1,x\n2,"y\n3,z\n');
    expect(answer).toContain('1 row of 2 columns');
    expect(answer).toContain('a quote that opens in line 3 is never closed');
  });

  it('are read in Latin-1 if that shows after the first 64 KiB', async () => {
    const text = `name,city\n${'ada,Turku\n'.repeat(9000)}Jürgen,Köln\n`;
    const answer = await describeOne('a.csv', Buffer.from(text, 'latin1'));
    expect(answer).toContain('Encoding: not UTF-8, read as Windows-1252.');
    expect(answer).toContain('`Köln` (1)');
    const file = await describeOne('a.txt', Buffer.from(text, 'latin1'));
    expect(file).toContain('Encoding: not UTF-8, read as Windows-1252.');
  });

  it('are read from JSON, and dates in it are not guessed', async () => {
    const rows = [
      { a: 1, day: '03/04/2024', at: '2024-01-02T03:04:05Z', list: [1] },
      { a: 2, day: '05/06/2024', at: '2024-01-03T03:04:05Z' },
    ];
    for (const [name, text] of [
      ['a.json', JSON.stringify(rows)],
      ['a.ndjson', rows.map((row) => JSON.stringify(row)).join('\n')],
    ] as const) {
      const answer = await describeOne(name, text);
      expect(answer).toContain('As a table: 2 rows of 4 columns.');
      expect(answer).toContain('| `day` | text | 0 | 2 |');
      expect(answer).toContain('| `at` | date and time | 0 | 2 |');
    }
  });

  it('show the numbers inside of objects and lists of JSON as numbers', async () => {
    const text = `[{"temp":{"high":62,"id":12345678901234567},"list":[1,2]}]`;
    const answer = await describeOne('a.json', text);
    expect(answer).toContain('`{"high":62,"id":"12345678901234567"}`');
    expect(answer).toContain('`[1,2]`');
  });

  it('are read from gzip', async () => {
    const answer = await describeOne('a.csv.gz', gzipSync('a,b\n1,x\n2,y\n'));
    expect(answer).toContain('As a table: 2 rows of 2 columns.');
  });

  it('are read from SQLite, with missing values', async () => {
    const path = join(folder, 'a.db');
    const database = new Database(path);
    database.exec(`create table people (id integer, name text, born text);
      insert into people values (1, 'Ada', '1815-12-10'), (2, '', null);
      create table "two words" (a, b blob); insert into "two words" values (1.5, x'0102');`);
    database.close();
    const answer = await describeOne('a.db', await readFile(path));
    expect(answer).toContain('2 tables.');
    expect(answer).toContain('Table `people`: 2 rows of 3 columns.');
    expect(answer).toContain('| `born` | date | 1 | 1 | `1815-12-10` |');
    expect(answer).toContain('| 1.5 | `(2 bytes)` |');
  });

  it('are read from SQLite with all digits of integers', async () => {
    const path = join(folder, 'ids.db');
    const database = new Database(path);
    database.exec(`create table users (id integer, score real);
      insert into users values (1234567890123456789, 0.5), (1234567890123456790, 3);`);
    database.close();
    const answer = await describeOne('ids.db', await readFile(path));
    expect(answer).toContain('| `1234567890123456789` | 0.5 |');
    expect(answer).toContain('| `id` | integer | 0 | 2 | `1234567890123456789` | `1234567890123456790` |');
    expect(answer).toContain('| `score` | number | 0 | 2 | `0.5` | `3` |');
  });

  it('are read from SQLite before those that belong to a format, such as GeoPackage', async () => {
    const path = join(folder, 'places.gpkg');
    const database = new Database(path);
    const ofFormat = [
      'gpkg_contents',
      'gpkg_extensions',
      'gpkg_geometry_columns',
      'spatial_ref_sys',
      'rtree_a',
    ];
    for (const name of [...ofFormat, 'places']) database.exec(`create table "${name}" (id integer)`);
    database.exec('insert into places values (7)');
    database.close();
    const answer = await describeOne('places.gpkg', await readFile(path));
    expect(answer).toContain('6 tables.\n\nTable `places`: 1 row of 1 column.');
    expect(answer).toContain('Further tables: `rtree_a`.');
  });

  it('are read from SQLite in WAL mode, and the answers say what may be missing', async () => {
    const path = join(folder, 'wal.db');
    const database = new Database(path);
    database.exec(
      'pragma journal_mode = wal; create table people (id integer); insert into people values (1)',
    );
    database.exec('pragma wal_checkpoint(truncate); insert into people values (2)');
    const file = filePart('wal.db', await readFile(path));
    database.close();
    const note =
      'The database is in WAL mode: what was written last may be in the file with `-wal` beside it, which is not here.';
    expect(await answerOf(handler, [file])).toContain(`1 row of 1 column. ${note}`);
    expect(await answerOf(handler, [file, 'select count(*) from wal_people'])).toContain(note);
  });

  it('are read from SQLite beside tables of modules and functions that are not here', async () => {
    const path = join(folder, 'modules.db');
    const database = new Database(path);
    database.exec(`create table people (id integer); insert into people values (1), (2);
      create virtual table notes using fts5(text, content = 'gone');
      pragma writable_schema = on;
      insert into sqlite_master values ('table', 'places', 'places', 0, 'create virtual table places using nosuch(a)');`);
    database.close();
    const file = filePart('a.db', await readFile(path));
    const answer = await answerOf(handler, [file]);
    expect(answer).toContain('Table `people`: 2 rows of 1 column.');
    expect(answer).toContain('Table `places` cannot be read: `no such module: nosuch`.');
    expect(answer).toContain('Table `notes` cannot be read: `no such table: main.gone`.');
    expect(await answerOf(handler, [file, 'select count(*) from a_people'])).toContain('| 2 |');
    const fault = '`a_places` cannot be read: `no such module: nosuch`.';
    for (const statement of ['show tables', 'select * from a_places', 'select * from a_people, a_places'])
      expect(await answerOf(handler, [file, statement])).toContain(fault);
    expect(await answerOf(handler, [file, 'Hello'])).toContain(
      'The nearest one is `select * from a_people limit 5`.',
    );
  });

  it('are read from Parquet', async () => {
    const path = join(folder, 'a.parquet');
    const instance = await DuckDBInstance.create();
    const connection = await instance.connect();
    await connection.run(`copy (select i as id, 'x' as name from range(3) t(i)) to '${path}'`);
    connection.closeSync();
    instance.closeSync();
    const content = await readFile(path);
    const answer = await describeOne('a.parquet', content);
    expect(answer).toContain('**Parquet table**');
    expect(answer).toContain('3 rows of 2 columns.');
    expect(answer).toContain('| `id` | integer | 0 | 3 | `0` | `2` | 1 |');
    expect(await describeOne('b.parquet', content.subarray(0, 60))).toContain(
      'This Parquet file is broken or cut off.',
    );
  });

  it('of more than a thousand columns are not opened', async () => {
    const row = Array.from({ length: 2000 }, (_, index) => `c${index}`).join(',');
    expect(await describeOne('a.csv', `${row}\n${row}\n`)).toContain(
      'This table has 2,000 columns; only tables up to 1,000 columns are opened here.',
    );
  });

  it('are not asked for longer than a statement may take, without the end of the process', async () => {
    const workspace = new Workspace(join(folder, 'workspace'));
    const table = new RequestedFile(
      { name: 'a.csv', mimeType: 'text/csv', size: 8 },
      60,
      Buffer.from('a,b\n1,2\n'),
      () => undefined,
    );
    const ask = (statement: string, as: 'table' | 'csv', values: Partial<FilesLimits> = {}) => {
      const limits = Object.assign(new FilesLimits(), values);
      return queryTables({ kind: 'sql', statement, as }, [table], limits, workspace);
    };
    const endless =
      'select count(*) from range(1000000) x, range(1000000) y where (x.range * y.range) % 7 = 3';
    const answer = 'This request takes more than 0.1 seconds, which is more than is spent on it.';
    for (const as of ['table', 'csv'] as const)
      await expect(ask(endless, as, { seconds: 0.1 })).rejects.toThrow(answer);
    expect(await ask('select a from a', 'table')).toMatchObject({ text: expect.stringContaining('| 1 |') });
  });

  it('leave no file behind when a process is ended', async () => {
    const other = new FilesHandler();
    const before = workspaces();
    const controller = new AbortController();
    const rows = Array.from({ length: 300_000 }, (_, index) => `${index},x\n`).join('');
    const parts = [filePart('a.csv', `a,b\n${rows}`)];
    const answer = answerOf(other, parts, { signal: controller.signal });
    const isNew = (name: string) => !before.includes(name);
    await eventually(() => workspaces().some(isNew));
    const used = workspaces().filter(isNew);
    controller.abort();
    expect(await answer).toBe('');
    await eventually(() => used.every((name) => !existsSync(join(tmpdir(), name))));
    await other.onApplicationShutdown();
  });
});
