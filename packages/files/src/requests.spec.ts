import { readFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import type { Readable } from 'node:stream';
import { eventually } from '../../../test/support/conditions.js';
import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { zipOf } from '../../../test/support/hostile-files.mjs';
import { contextOf } from '../../../test/support/handler-context.js';
import { QueryError } from 'nest-agent-query';
import type {
  Envelope,
  FilePart,
  MessageEnvelope,
  QueryContext,
  SuggestionsEnvelope,
  Turn,
} from 'nest-agent-query';
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
    history: parts.map((each) => ({ parts: each, text: '' }) as Turn),
  };
}

/** Paths of this machine, what is in the environment, and what is in its files. */
const OF_THE_MACHINE = new RegExp([tmpdir(), homedir(), 'nest-agent-query-', 'root:', 'PATH='].join('|'));
const WITH_PATHS = 'where name like $$%path%$$ or name like $$%director%$$';

/** The files of an answer, with their contents. */
async function filesOf(handler: FilesHandler, text: string, ...files: FilePart[]) {
  const query = { parts: [...files, { type: 'text' as const, text }], kwargs: {} };
  const found: { name: string; mimeType: string; content: Buffer }[] = [];
  for await (const { type, data } of handler.handle(query, contextOf())) {
    if (type !== 'file') continue;
    const { name, mimeType, content } = data as { name: string; mimeType: string; content: Readable };
    found.push({ name, mimeType, content: Buffer.concat(await content.toArray()) });
  }
  return found;
}

describe('A request', () => {
  let handler: FilesHandler;

  // One process, which loads the engine for tables once.
  beforeAll(() => {
    handler = new FilesHandler(Object.assign(new FilesLimits(), { processes: 1 }));
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (text: string, ...files: FilePart[]) => answerOf(handler, [...files, text]);
  const suggestedFor = async (files: FilePart[], text: string, context: Partial<QueryContext> = {}) => {
    const query = { parts: [...files, { type: 'text' as const, text }], kwargs: {} };
    const items: string[] = [];
    for await (const { type, data } of handler.handle(query, contextOf(context)))
      if (type === 'suggestions')
        items.push(...(data as SuggestionsEnvelope['data']).items.map((each) => each.text));
    return items;
  };

  describe('in SQL', () => {
    it('has its answer as a table', async () => {
      const sql = 'select city, count(*) as n, sum(amount) as total from orders group by city order by city';
      expect(await ask(sql, ORDERS)).toBe(
        '| `city` | `n` | `total` |\n| --- | --- | --- |\n' +
          '| `Espoo` | 10 | 202.5 |\n| `Oulu` | 10 | 217.5 |\n| `Turku` | 10 | 232.5 |\n\n(3 rows.)\n\n',
      );
    });

    it('has its answer as a file in CSV, JSON and Parquet, with all rows', async () => {
      const sql = 'select id, city as "a, b", amount > 3 as big from orders order by id limit 2';
      const csv = await filesOf(handler, `${sql} as csv`, ORDERS);
      expect(csv).toEqual([
        {
          name: 'result.csv',
          mimeType: 'text/csv',
          content: Buffer.from('id,"a, b",big\n0,Espoo,false\n1,Oulu,false\n'),
        },
      ]);
      const [json] = await filesOf(handler, `${sql} as json`, ORDERS);
      expect(json).toMatchObject({ name: 'result.json', mimeType: 'application/json' });
      expect(JSON.parse(json!.content.toString())).toEqual([
        { id: 0, 'a, b': 'Espoo', big: false },
        { id: 1, 'a, b': 'Oulu', big: false },
      ]);
      const [rows] = await filesOf(handler, 'select * from range(30000) as csv', ORDERS);
      expect(rows!.content.toString().split('\n')).toHaveLength(30_002);
      const [parquet] = await filesOf(handler, 'orders as parquet', ORDERS);
      expect(parquet).toMatchObject({ name: 'orders.parquet', mimeType: 'application/vnd.apache.parquet' });
      const again = filePart('again.parquet', parquet!.content);
      expect(await ask('select sum(amount), count(distinct city) from again', again)).toContain(
        '| 652.5 | 3 |',
      );
    });

    it('has all digits of a sum also in Parquet', async () => {
      const ids = filePart('ids.csv', 'id\n9223372036854775807\n9223372036854775806\n');
      const [sum] = await filesOf(handler, 'select sum(id) as sum from ids as parquet', ids);
      const again = filePart('again.parquet', sum!.content);
      expect(await ask('select sum from again', again)).toContain('18446744073709551613');
    });

    it('says in its text what is in a file of its answer', async () => {
      expect(await ask('orders as csv', ORDERS)).toContain(
        '`orders.csv` has 30 rows of 3 columns, 408 bytes. It begins:\n\n| `id`',
      );
      expect(await ask('select * from orders where id < 0 as csv', ORDERS)).toBe(
        '`result.csv` has 0 rows of 3 columns, 15 bytes.\n\n',
      );
      expect(await ask('nope as csv', ORDERS)).toContain('Table with name nope does not exist!');
    });

    it('puts no more into a file than its limit', async () => {
      const sql = `select repeat('x', 1000) from range(200000) as csv`;
      expect(await ask(sql, ORDERS)).toBe('A file of an answer has at most 134 MB. Ask for less.\n\n');
    });

    it('puts nothing into a file that says something about the machine', async () => {
      for (const sql of [
        `select current_setting('temp_directory')`,
        `select [current_setting('allowed_paths')]`,
      ]) {
        for (const form of ['csv', 'json', 'parquet']) {
          expect(await filesOf(handler, `${sql} as ${form}`, ORDERS)).toEqual([]);
          expect(await ask(`${sql} as ${form}`, ORDERS)).not.toMatch(OF_THE_MACHINE);
        }
      }
    });

    it('closes the file of an answer that nobody reads', async () => {
      const controller = new AbortController();
      const query = { parts: [ORDERS, { type: 'text' as const, text: 'orders as csv' }], kwargs: {} };
      let content: Readable | undefined;
      for await (const { type, data } of handler.handle(query, contextOf({ signal: controller.signal }))) {
        if (type !== 'file') continue;
        content = (data as { content: Readable }).content;
        break;
      }
      await eventually(() => content!.closed);
    });

    it('only reads', async () => {
      for (const statement of ['delete from orders', 'update orders set id = 1', 'drop table orders']) {
        expect(await ask(statement, ORDERS)).toContain('Only one statement that reads is executed');
        expect(await ask(statement)).toContain('Only one statement that reads is executed');
      }
    });

    it('shows numbers with digits that say something, and texts as they are written', async () => {
      const table = filePart('a.csv', 'x,paid\n0.1,yes\n0.2,No\n1.7,yes\n');
      expect(
        await ask('select sum(x), avg(x), sum(x) * 1000 / 3, 60.1698556 as lat from a', table),
      ).toContain('\n| 2 | 0.666667 | 666.667 | 60.1698556 |\n');
      expect(await ask(`select paid, count(*) from a where paid <> 'No' group by paid`, table)).toContain(
        '| `yes` | 2 |',
      );
    });

    it('has as its summary what the description of the file says', async () => {
      const rows = Array.from(
        { length: 120_000 },
        (_, id) => `${id},${(id * 7919) % 20_011},name ${id % 85}\n`,
      ).join('');
      for (const table of [ORDERS, filePart('orders.csv', `id,code,name\n${rows}`)]) {
        const summary = await ask('summarize orders', table);
        expect(await answerOf(handler, [table])).toContain(summary.trim());
        expect(await answerOf(handler, [table, 'summarize select * from orders'])).toBe(summary);
        expect(summary).not.toContain('about');
      }
      const [file] = await filesOf(handler, 'summarize orders as csv', ORDERS);
      expect(file!.content.toString()).toContain('city,text,0,3,,,,"Espoo (10), Oulu (10), Turku (10)"');
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
      [`select name, value from "duckdb_settings"() ${WITH_PATHS}`, '(workspace)/2.spill'],
      [`select name, value from query('from duckdb' || '_settings() ${WITH_PATHS}')`, '(workspace)/2.spill'],
      [`select name, value from duckdb_settings /* */ () ${WITH_PATHS}`, '(workspace)/2.spill'],
      [`select current_setting('temp_directory') as a`, '`(workspace)/2.spill`'],
      [`select "current_setting"('allowed_paths') as a`, '(workspace)'],
      [`select * from pragma_database_list`, '(workspace)/'],
      [`select * from duckdb_databases()`, '(workspace)/'],
      [`select * from pg_settings where setting like '%/%'`, '(workspace)/2.spill'],
      [`select * from duckdb_secrets()`, '(0 rows.)'],
      [`select * from duckdb_views() where view_name = 'orders'`, '`orders`'],
    ])('says nothing about the machine: %s', async (sql, said) => {
      const answer = await ask(sql, ORDERS);
      expect(answer).toContain(said);
      expect(answer).not.toMatch(OF_THE_MACHINE);
    });

    it('bounds the rows of its answer', async () => {
      const answer = await ask('select * from range(1000000)', ORDERS);
      expect(answer).toContain('(The first 100 rows; there are more. With `as csv`');
      expect(answer.length).toBeLessThan(10_000);
    });

    it('bounds its time', async () => {
      const hasty = new FilesHandler(Object.assign(new FilesLimits(), { seconds: 1 }));
      const endless =
        'select count(*) from range(1000000) a, range(1000000) b where (a.range * b.range) % 7 = 3';
      expect(await answerOf(hasty, [ORDERS, endless])).toContain('This request takes more than 1 second,');
      // It does not load the engine, which may take so long on a busy machine. That the engine goes on is tested with tables.
      const isAnswered = async () =>
        (await answerOf(hasty, [ORDERS, 'show tables'])).includes('| `orders` |');
      await eventually(isAnswered);
      await hasty.onApplicationShutdown();
    });

    it('bounds its memory', async () => {
      const answer = await ask('select list(a.range || b.range) from range(100000) a, range(1000) b', ORDERS);
      expect(answer).toMatch(/takes more (memory )?than/);
      expect(await ask('select count(*) from orders', ORDERS)).toContain('| 30 |');
    });

    it('says that there are no tables', async () => {
      expect(await ask('show tables', await fixture('report.pdf'))).toBe(
        'There are no tables in this file. Tables are CSV, TSV, NDJSON, Parquet and SQLite files, sheets, and in JSON ' +
          'arrays of objects such as `{"data": [{"id": 1}]}`.\n\n',
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

  it('is suggested for a question, first those about its words, and the suggestions work', async () => {
    const files = [ORDERS, await fixture('report.pdf')];
    const suggested = async (text: string, all = files, context = {}) => {
      const query = { parts: [...all, { type: 'text' as const, text }], kwargs: {} };
      const envelopes: Envelope[] = [];
      for await (const envelope of handler.handle(query, contextOf(context))) envelopes.push(envelope);
      const [said, offer] = envelopes.slice(-2) as [MessageEnvelope, SuggestionsEnvelope];
      const requests = offer.data.items.map((item) => item.text);
      // Clients show the others as buttons.
      expect(said.data.content).toBe(
        'This agent does not read language, it answers requests. The nearest one is ' +
          `\`${requests[0]}\`.\n\nA model answers questions, and has these requests as its tool: start the service with ` +
          '`MODEL_BASE_URL=http://127.0.0.1:11434/v1 MODEL=llama3.2 npm start` (docs/agents.md).\n',
      );
      return requests;
    };
    const requests = await suggested('What is the total amount by city?');
    expect(requests).toEqual([
      'select city, sum(amount) as total, count(*) as n from orders group by city order by total desc',
      'select city, sum(amount) as total from orders group by city order by total desc as chart',
      'select city, count(*) as n from orders group by city order by n desc',
      'select * from orders limit 5',
      'summarize orders',
      'page 1 of report.pdf',
    ]);
    for (const request of requests) {
      expect(await ask(request, ...files)).not.toMatch(/cannot be executed|There is no|Nothing/);
    }
    expect(await suggested('How large is the engine?', [await fixture('report.pdf')])).toEqual([
      'page 1',
      'text',
      'find "engine"',
    ]);
    expect((await suggested('And now?', [], sessionWith([[ORDERS]])))[0]).toBe(
      'select * from orders limit 5',
    );
    const attached = filePart('people.csv', 'name\nAda\n');
    expect((await suggested('And now?', [attached], sessionWith([[ORDERS]])))[0]).toBe(
      'select * from people limit 5',
    );
  });

  it('is suggested about the file that a question names, and else about the newest one', async () => {
    const sales = filePart('sales.csv', 'region,units\nNorth,3\nSouth,4\n');
    const items = (text: string, turns: FilePart[][]) => suggestedFor([], text, sessionWith(turns));
    const turns = [[ORDERS, await fixture('report.pdf')], [sales]];
    expect((await items('how many units per region?', turns))[0]).toBe(
      'select region, sum(units) as total, count(*) as n from sales group by region order by total desc',
    );
    expect((await items('total amount of Oulu', turns))[0]).toBe(
      "select sum(amount) as total from orders where city = 'Oulu'",
    );
    expect((await items('and now?', turns))[0]).toBe('select * from sales limit 5');
    expect((await items('what about the engine?', turns)).slice(0, 2)).toEqual([
      'page 1 of report.pdf',
      'find "engine"',
    ]);
  });

  it('is offered after a sentence, where nothing with the words of the question is found', async () => {
    const nothing = 'Nothing with the words of the question was found in this file.';
    expect(await ask('unicorns', ORDERS)).toContain(nothing);
    expect(await ask('what is this?', ORDERS)).not.toContain('Nothing');
    expect(await ask('amount of Oulu', ORDERS)).not.toContain('Nothing');
  });

  it('is not offered to find words in tables', async () => {
    const answer = await suggestedFor([ORDERS], 'find out about city and Oulu');
    expect(answer.filter((request) => request.startsWith('find'))).toEqual([]);
    expect(answer[0]).toContain('from orders');
  });

  it('says once in a conversation that a model answers questions', async () => {
    const said = (text: string) => {
      const { history, ...context } = sessionWith([[ORDERS]]);
      return answerOf(handler, ['And?'], {
        ...context,
        history: history!.map((turn) => ({ ...turn, text })),
      });
    };
    const first = await said('A table');
    expect(first).toContain('MODEL_BASE_URL');
    expect(await said(first)).toBe(
      'This agent does not read language, it answers requests. The nearest one is `select * from orders limit 5`.\n',
    );
  });

  it('as chart has an image as its answer, or says why there is none', async () => {
    const [chart, ...more] = await filesOf(
      handler,
      'select city, count(*) as n from orders group by city as chart',
      ORDERS,
    );
    expect(more).toEqual([]);
    expect(chart).toMatchObject({ name: 'result.svg', mimeType: 'image/svg+xml' });
    expect(chart!.content.toString()).toMatch(/^<svg [^>]*role="img"[^]*>Espoo<[^]*<\/svg>\n$/);
    expect(await ask('select city from orders as chart', ORDERS)).toMatch(
      /^There is no chart of this result\./,
    );
    expect(await ask('select nothing from orders as chart', ORDERS)).toContain('cannot be executed');
  });

  it('as chart is suggested for rows that fit into one', async () => {
    expect(await suggestedFor([ORDERS], 'select city, count(*) as n from orders group by city')).toEqual([
      'select city, count(*) as n from orders group by city as chart',
    ]);
    expect(await suggestedFor([ORDERS], 'select city from orders')).toEqual([]);
  });

  it.each([
    ['order, "a', 'select "order, ""a", count(*) as n from t group by "order, ""a" order by n desc'],
    [
      '![x](http://host)',
      'select "![x](http://host)", count(*) as n from t group by "![x](http://host)" order by n desc',
    ],
  ])('is suggested for a column with the name %j', async (name, statement) => {
    const table = filePart('t.csv', `"${name.replaceAll('"', '""')}",b\nx,y\n`);
    const answer = await ask(`what about order a x http host?`, table);
    expect(answer).toContain(` The nearest one is \`${statement}\`.`);
    expect(await ask(statement, table)).toContain('| `x` | 1 |');
  });

  it('describes files of earlier turns again', async () => {
    const context = sessionWith([[ORDERS], [filePart('a.txt', 'text')]]);
    const both = await answerOf(handler, ['describe'], context);
    expect(both.indexOf('### `a.txt`')).toBeLessThan(both.indexOf('### `orders.csv`'));
    expect(await answerOf(handler, ['describe of a.txt'], context)).not.toContain('orders.csv');
    expect(await answerOf(handler, ['describe of b.txt'], context)).toBe(
      'There is no file `b.txt`. The files are: `a.txt`, `orders.csv`.\n\n',
    );
  });

  it.each([
    ['text', 'new words'],
    ['outline', 'This file has no outline.'],
    ['describe', '### `new.txt`\n\n**Text file**, 10 bytes.'],
    ['find words', '1 passage with `words`:\n\n1. `new.txt`, line 1: `new words`'],
    ['page 1', 'This file has no pages.'],
    ['sheet x', 'This file has no sheets.'],
    ['entry x', 'This file has no entries.'],
  ])('without a name is about the files of the query, if it has some: %s', async (text, expected) => {
    const context = sessionWith([
      [ORDERS],
      [await fixture('report.pdf')],
      [filePart('old.txt', 'old words\n')],
    ]);
    const answer = await answerOf(handler, [text, filePart('new.txt', 'new words\n')], context);
    expect(answer).toContain(expected);
    expect(answer).not.toMatch(/old|orders|report/);
  });

  it('that names a file of an earlier turn is about that file, also if the query has files', async () => {
    const context = sessionWith([[filePart('old.txt', 'old words\n')]]);
    const answer = await answerOf(handler, ['text of old.txt', filePart('new.txt', 'new words\n')], context);
    expect(answer).toContain('old words');
    expect(answer).not.toContain('new words');
  });

  it('of another agent has its answer as text', async () => {
    const answer = (request: string) => handler.answerTo(request, [ORDERS], contextOf());
    expect(await answer('select count(*) from orders')).toContain('| 30 |');
    expect(await answer('describe')).toContain('30 rows of 3 columns');
    expect(await answer('orders as csv')).toContain('ask without `as`');
    expect(await answer('delete from orders')).toContain('Only one statement that reads');
    expect(await answer('How many?')).toContain('This is no request. A request is one of: `show tables`');
  });

  it('is answered in the order of the texts', async () => {
    const answer = await answerOf(handler, ['select 1 as one', ORDERS, 'select 2 as two']);
    expect(answer.indexOf('`one`')).toBeLessThan(answer.indexOf('`two`'));
    expect(answer).not.toContain('CSV table');
  });

  // The last one: it ends the process.
  it('in SQL ends when the run is cancelled', async () => {
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
    controller.abort();
    await running;
  });
});
