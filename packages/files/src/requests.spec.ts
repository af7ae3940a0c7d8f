import { readFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { eventually } from '../../../test/support/conditions.js';
import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { zipOf } from '../../../test/support/hostile-files.mjs';
import { contextOf } from '../../../test/support/handler-context.js';
import { QueryError } from 'nest-agent-query';
import type { FilePart, QueryContext, Turn } from 'nest-agent-query';
import { FilesHandler, FilesLimits } from './index.js';

const FIXTURES = new URL('../../../test/fixtures/files/', import.meta.url);

const fixture = async (name: string) => filePart(name, await readFile(new URL(name, FIXTURES)));

const CITIES = ['Espoo', 'Oulu', 'Turku'];
const ORDERS = filePart(
  'orders.csv',
  `id,city,amount\n${Array.from({ length: 30 }, (_, id) => `${id},${CITIES[id % 3]},${id * 1.5}\n`).join('')}`,
);

/** A session whose earlier turns have files. */
function sessionWith(turns: FilePart[][], gone: FilePart[] = []): Partial<QueryContext> {
  const files = new Map(turns.flat().map((part) => [part.sha256, part.file]));
  for (const { sha256 } of gone) files.delete(sha256);
  const parts = turns.map((all) =>
    all.map(({ type, name, mimeType, sha256, file }) => ({ type, name, mimeType, sha256, size: file.size })),
  );
  return {
    session: {
      id: 'session',
      olderTurns: 0,
      file: (sha256: string) => {
        const file = files.get(sha256);
        return file ? Promise.resolve(file) : Promise.reject(new QueryError('not_found', 'It is gone.'));
      },
    },
    history: parts.map((each) => ({ parts: each }) as Turn),
  };
}

/** Paths of this machine, what is in the environment, and what is in its files. */
const OF_THE_MACHINE = new RegExp([tmpdir(), homedir(), 'nest-agent-query-', 'root:', 'PATH='].join('|'));
const WITH_PATHS = 'where name like $$%path%$$ or name like $$%director%$$';

describe('A request', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (text: string, ...files: FilePart[]) => answerOf(handler, [...files, text]);

  describe('in SQL', () => {
    it('has its answer as a table', async () => {
      const sql = 'select city, count(*) as n, sum(amount) as total from orders group by city order by city';
      expect(await ask(sql, ORDERS)).toBe(
        '| `city` | `n` | `total` |\n| --- | --- | --- |\n' +
          '| `Espoo` | 10 | 202.5 |\n| `Oulu` | 10 | 217.5 |\n| `Turku` | 10 | 232.5 |\n\n(3 rows.)\n\n',
      );
    });

    it('has its answer as CSV and as JSON', async () => {
      const sql = 'select id, city as "a, b" from orders order by id limit 2';
      expect(await ask(`${sql} as csv`, ORDERS)).toContain(
        '```csv\nid,"a, b"\n0,Espoo\n1,Oulu\n```\n\n(2 rows.)',
      );
      const json = await ask(`${sql} as json`, ORDERS);
      const [, content = ''] = /```json\n(.*)\n```/s.exec(json) ?? [];
      expect(JSON.parse(content)).toEqual([
        { id: 0, 'a, b': 'Espoo' },
        { id: 1, 'a, b': 'Oulu' },
      ]);
    });

    it('says that there is no Parquet yet', async () => {
      expect(await ask('select 1 as parquet', ORDERS)).toContain('Parquet is not text');
    });

    it('joins tables of several files and sheets', async () => {
      const people = filePart(
        'people.json',
        JSON.stringify([
          { id: 1, name: 'Ada' },
          { id: 2, name: 'Grace' },
        ]),
      );
      const sql =
        'select p.name, o.city, b.customer from people p join orders o using (id) ' +
        'join orders_orders b on b."order" = p.id order by p.id';
      expect(await ask(sql, people, ORDERS, await fixture('orders.xlsx'))).toContain(
        '| `Ada` | `Oulu` | `Ada` |\n| `Grace` | `Turku` | `Grace` |',
      );
    });

    it('reads the sheets of OpenDocument spreadsheets', async () => {
      const sql = 'select customer, date, amount from orders_orders where date > $$2024-01-31$$';
      expect(await ask(sql, await fixture('orders.ods'))).toContain('| `Linus` | `2024-02-29` | 7.25 |');
    });

    it('names the columns and the position of an error', async () => {
      const answer = await ask('select citty from orders', ORDERS);
      expect(answer).toContain('`Referenced column "citty" not found in FROM clause!`');
      expect(answer).toContain('LINE 1: select citty from orders\n               ^');
      expect(answer).toContain('Columns of `orders`: `id`, `city`, `amount`.');
    });

    it('names the tables if there is no such table', async () => {
      const answer = await ask('select * from nope', ORDERS, await fixture('orders.xlsx'));
      expect(answer).toContain('Table with name nope does not exist!');
      expect(answer).toContain('| `orders_notes` | `orders.xlsx` | `Notes` |');
    });

    it.each([
      `select * from read_csv('/etc/passwd')`,
      `select * from read_text('/etc/hostname')`,
      `select * from glob('/*')`,
      `select * from '/etc/passwd'`,
      `select * from read_csv('https://example.org/a.csv')`,
      `select * from "/etc/passwd"`,
      `select * from read_text('/proc/' || 'self/environ')`,
      `select * from query('select * from read_' || 'text(''/etc/passwd'')')`,
      `select getenv('PATH')`,
      `select "getenv"('PATH')`,
      `select * from duckdb_extensions()`,
      `select * from pragma_database_size(); set lock_configuration = false`,
      `select 1; create table x (a int)`,
      `select 1; set memory_limit = '10GB'`,
      `select 1; copy orders to '/tmp/x'`,
      `select 1; install httpfs`,
      `with a as (select 1) insert into orders select * from a`,
    ])('reads nothing but the tables: %s', async (sql) => {
      const answer = await ask(sql, ORDERS);
      expect(answer).toMatch(/^(This statement cannot be executed|Only one statement)/);
      expect(answer).not.toMatch(OF_THE_MACHINE);
    });

    it.each([
      [`select name, value from "duckdb_settings"() ${WITH_PATHS}`, '(workspace)/1.spill'],
      [`select name, value from query('from duckdb' || '_settings() ${WITH_PATHS}')`, '(workspace)/1.spill'],
      [`select name, value from duckdb_settings /* */ () ${WITH_PATHS}`, '(workspace)/1.spill'],
      [`select current_setting('temp_directory') as a`, '"a":"(workspace)/1.spill"'],
      [`select "current_setting"('allowed_paths') as a`, '(workspace)'],
      [`select * from pragma_database_list`, '(workspace)/1'],
      [`select * from duckdb_databases()`, '(workspace)/1'],
      [`select * from pg_settings where setting like '%/%'`, '(workspace)/1.spill'],
      [`select * from duckdb_secrets()`, '(0 rows.)'],
      [`select * from duckdb_views() where view_name = 'orders'`, '"view_name":"orders"'],
    ])('says nothing about the machine: %s', async (sql, said) => {
      const answer = await ask(`${sql} as json`, ORDERS);
      expect(answer).toContain(said);
      expect(answer).not.toMatch(OF_THE_MACHINE);
    });

    it('bounds the rows of its answer', async () => {
      const answer = await ask('select * from range(1000000)', ORDERS);
      expect(answer).toContain('(The first 100 rows; there are more.)');
      expect(answer.length).toBeLessThan(10_000);
      const csv = await ask(`select repeat('x', 1000) from range(1000000) as csv`, ORDERS);
      expect(csv).toMatch(/\(The first \d+ rows; there are more\.\)/);
      expect(csv.length).toBeLessThan(300_000);
    });

    it('bounds its time', async () => {
      const hasty = new FilesHandler(Object.assign(new FilesLimits(), { seconds: 3 }));
      const endless =
        'select count(*) from range(1000000) a, range(1000000) b where (a.range * b.range) % 7 = 3';
      expect(await answerOf(hasty, [ORDERS, endless])).toContain('This request takes more than 3 seconds');
      expect(await answerOf(hasty, [ORDERS, 'select count(*) from orders'])).toContain('| 30 |');
      await hasty.onApplicationShutdown();
    });

    it('bounds its memory', async () => {
      const answer = await ask('select list(a.range || b.range) from range(100000) a, range(1000) b', ORDERS);
      expect(answer).toMatch(/takes more (memory )?than/);
      expect(await ask('select count(*) from orders', ORDERS)).toContain('| 30 |');
    });

    it('ends within 500 ms when the run is cancelled', async () => {
      const controller = new AbortController();
      const endless =
        'select count(*) from range(1000000) a, range(1000000) b where (a.range * b.range) % 7 = 3';
      let hasBegun = false;
      const query = { parts: [ORDERS, { type: 'text' as const, text: endless }], kwargs: {} };
      const context = contextOf({ signal: controller.signal });
      const running = (async () => {
        for await (const { type } of handler.handle(query, context)) if (type === 'log') hasBegun = true;
      })();
      await eventually(() => hasBegun);
      const begin = performance.now();
      controller.abort();
      await running;
      expect(performance.now() - begin).toBeLessThan(500);
    });

    it('says that there are no tables', async () => {
      expect(await ask('show tables', await fixture('report.pdf'))).toBe(
        'There are no tables in this file.\n\n',
      );
      expect(await ask('select * from a', filePart('a.zip', zipOf([['a.csv', Buffer.from('a\n1\n')]])))).toBe(
        'There are no tables in this file. Tables in an archive are not opened: for that, send their files.\n\n',
      );
      expect(await ask('select 1')).toContain('There are no tables: send files along');
    });
  });

  describe('for words', () => {
    it('finds passages in files of all kinds, with their places', async () => {
      const files = [
        filePart('notes.md', '# Engines\n\nThe analytical engine has a mill.\n'),
        filePart('a.zip', zipOf([['docs/a.txt', Buffer.from('one\nan engine\n')]])),
        await fixture('report.pdf'),
        await fixture('slides.pptx'),
        await fixture('report.docx'),
      ];
      const answer = await ask('find "analytical engine"', ...files);
      expect(answer).toMatch(/^6 passages with `analytical engine`:\n\n1\. `(notes\.md|slides\.pptx)`, /);
      expect(answer).toContain('`notes.md`, line 3: `The analytical engine has a mill.`');
      expect(answer).toContain('`slides.pptx`, slide 1: `The analytical engine`');
      expect(answer).toContain('`a.zip`, entry `docs/a.txt`, line 2: `an engine`');
      expect(answer).toContain('`report.pdf`, page 1: ');
      expect(answer).toContain('`report.docx`, paragraph 2: ');
      expect(await ask('find Linus', await fixture('orders.xlsx'))).toContain(
        'sheet `Orders`, row 4: `3 | Linus |',
      );
    });

    it('says so if there is nothing, and what could not be read', async () => {
      const answer = await ask('find "nothing at all"', ORDERS, await fixture('encrypted.pdf'));
      expect(answer).toContain('`nothing at all` was not found in 2 files.');
      expect(answer).toContain('`encrypted.pdf`: This PDF is encrypted');
    });
  });

  describe('for a part', () => {
    it.each([
      ['page 1', 'report.pdf', '**Page 1 of 1**\n\n```text\nAnnual report\n'],
      ['page 2', 'report.pdf', 'There is no such page: it has only page 1.'],
      ['page 0', 'slides.pptx', 'There is no such slide: it has the slides 1 to 2.'],
      [
        'pages 1-9',
        'slides.pptx',
        '**Slide 2 of 2**\n\n```text\nNext steps\n```\n\n(There are no further slides.)',
      ],
      ['page 1', 'orders.csv', 'This file has no pages.'],
      [
        'sheet notes',
        'orders.xlsx',
        'Sheet `Notes`:\n\n| row | A | B | C |\n| --- | --- | --- | --- |\n| 4 |  |  | `far away` |',
      ],
      ['sheet Nope', 'orders.xlsx', 'There is no such sheet. It has: `Orders`, `Notes`.'],
      ['sheet notes', 'orders.ods', 'Sheet `Notes`:\n\n| row | A | B | C |'],
      ['outline', 'orders.ods', '- sheet `Orders`\n- sheet `Notes`'],
      ['entry a.txt', 'archive.zip', 'Entry `a.txt`, 6 bytes:\n\n```text\n'],
      ['entry a.txt', 'archive.tar', 'Entry `a.txt`, 6 bytes:\n\n```text\n'],
      ['entry b.txt', 'archive.tar.gz', 'There is no such entry. It has: `a.txt`, `folder/numbers.txt`.'],
      ['outline', 'report.docx', '- `Annual report`\n  - `Figures`'],
      ['outline', 'report.pdf', '- `Annual report`\n  - `Figures`'],
      ['outline', 'slides.pptx', '- slide 1: `The analytical engine`\n- slide 2: `Next steps`'],
      ['outline', 'orders.xlsx', '- sheet `Orders`\n- sheet `Notes`'],
      ['outline', 'archive.tar', '- entry `a.txt`'],
      ['outline', 'picture.png', 'This file has no outline.'],
      ['text', 'report.docx', '```text\nAnnual report\nThe year was good for the engine.\n'],
      ['text', 'picture.png', 'This file has no text that can be read.'],
      ['text', 'encrypted.pdf', 'This PDF is encrypted'],
    ])('as %j is answered for %s', async (request, name, said) => {
      expect(await ask(request, await fixture(name))).toContain(said);
    });

    it('is answered for the file that it names, or names the files', async () => {
      const files = [await fixture('report.pdf'), await fixture('slides.pptx')];
      const answer = await ask('page 1 of slides.pptx', ...files);
      expect(answer).toContain('### `slides.pptx`');
      expect(answer).not.toContain('report.pdf');
      expect(await ask('page 1 of b.pdf', ...files)).toBe(
        'There is no file `b.pdf`. The files are: `report.pdf`, `slides.pptx`.\n\n',
      );
    });
  });

  it('uses the files of earlier turns, the newest first', async () => {
    const older = filePart('orders.csv', 'id\n1\n');
    const context = sessionWith([[older], [ORDERS]]);
    const count = 'select (select count(*) from orders) as new, (select count(*) from orders_2) as old';
    expect(await answerOf(handler, [count], context)).toContain('| 30 | 1 |');
    const again = await answerOf(handler, [ORDERS, 'show tables'], context);
    expect(again.match(/orders\.csv/g)).toHaveLength(2);
    const gone = sessionWith([[older], [ORDERS]], [ORDERS]);
    expect(await answerOf(handler, ['select count(*) from orders'], gone)).toContain('| 1 |');
  });

  it('is suggested for another text, and the suggestions work', async () => {
    const files = [ORDERS, await fixture('report.pdf')];
    const answer = await ask('What is this?', ...files);
    expect(answer).toContain('**CSV table**');
    const [, list = ''] =
      /These requests work for these files, as the text of a query:\n\n(.*)\n\n/s.exec(answer) ?? [];
    const requests = Array.from(list.matchAll(/^- `(.*)`$/gm), ([, request]) => request!);
    expect(requests).toEqual(['select * from orders limit 5', 'page 1', 'find "city"']);
    for (const request of requests) {
      expect(await ask(request, ...files)).not.toMatch(/cannot be executed|There is no|Nothing/);
    }
    const context = sessionWith([[ORDERS]]);
    expect(await answerOf(handler, ['And now?'], context)).toContain('- `select * from orders limit 5`');
  });

  it('is answered in the order of the texts', async () => {
    const answer = await answerOf(handler, ['select 1 as one', ORDERS, 'select 2 as two']);
    expect(answer.indexOf('`one`')).toBeLessThan(answer.indexOf('`two`'));
    expect(answer).not.toContain('CSV table');
  });
});
