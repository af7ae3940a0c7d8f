import { gzipSync } from 'node:zlib';
import { answerOf, filePart } from '../../../../test/support/files-agent.js';
import { FilesHandler } from '../index.js';

describe('Tables in JSON', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (text: string, name: string, content: unknown) =>
    answerOf(handler, [
      filePart(
        name,
        typeof content === 'string' || content instanceof Buffer ? content : JSON.stringify(content),
      ),
      ...(text === '' ? [] : [text]),
    ]);

  it('leave out broken lines, and say which', async () => {
    const lines = '{"a":1}\n{"a":2\n{"a":3}\n{"a":\n{"a":4}\n';
    const said = '2 rows left out, without an object of JSON: lines 2, 4.';
    expect(await ask('', 't.ndjson', lines)).toContain(said);
    const answer = await ask('select sum(a), count(*) from t', 't.ndjson', lines);
    expect(answer).toContain(`About \`t\`: ${said}`);
    expect(answer).toContain('| 8 | 3 |');
  });

  const PLACES = {
    type: 'FeatureCollection',
    features: [
      {
        type: 'Feature',
        id: 'a1',
        properties: { place: 'Köln', size: 3, type: 'city' },
        geometry: { type: 'Point', coordinates: [6.9603, 50.9375] },
      },
      {
        type: 'Feature',
        id: 'a2',
        properties: { place: 'lake', size: 4.5, deep: true },
        geometry: {
          type: 'Polygon',
          coordinates: [
            [
              [-1.5, 40, 7],
              [2e1, 40, 7],
              [20, 45.25, 7],
              [-1.5, 40, 7],
            ],
          ],
        },
      },
      { type: 'Feature', id: 'a3', properties: { place: 'nowhere' }, geometry: null },
    ],
  };

  const LISTS = {
    nodes: [{ id: 1 }],
    a: { 'b c': [{ d: 'x' }] },
    numbers: [1],
    none: [],
    mixed: [{}, 1],
    rows: [{ inner: [{ e: 1 }] }],
  };

  it('are arrays of objects that are reached through objects only, named by their path', async () => {
    expect(await ask('show tables', 'm.json', LISTS)).toBe(
      'The tables are:\n\n| table | file | sheet or table |\n| --- | --- | --- |\n| `m_nodes` | `m.json` | `nodes` |\n' +
        '| `m_a_b_c` | `m.json` | `a.b c` |\n| `m_rows` | `m.json` | `rows` |\n\n',
    );
    expect(await ask('select d from m_a_b_c', 'm.json', LISTS)).toContain('| `d` |\n| --- |\n| `x` |');
    const description = await ask('', 'm.json', LISTS);
    expect(description).toContain('Table `nodes`: 1 row of 1 column.\n\n| `id` |\n| --- |\n| 1 |');
    expect(description).toContain('Table `a.b c`: 1 row of 1 column.');
  });

  it.each<[string, string | Buffer]>([
    ['with a byte order mark', '\uFEFF{"d":[{"a":"ü"}]}'],
    ['in UTF-16', Buffer.from('\uFEFF{"d":[{"a":"ü"}]}', 'utf16le')],
    ['after more than the beginning that is looked at', `{"x":"${'y'.repeat(200_000)}","d":[{"a":"ü"}]}`],
    ['before a fault', '{"d":[{"a":"ü"}],"e":[1,'],
  ])('are read %s', async (_what, content) => {
    expect(await ask('select a from c_d', 'c.json', content)).toContain('| `a` |\n| --- |\n| `ü` |');
  });

  it('are read from gzip', async () => {
    const answer = await ask('select a from c_d', 'c.json.gz', gzipSync('{"d":[{"a":1}]}'));
    expect(answer).toContain('| `a` |\n| --- |\n| 1 |');
  });

  it('are read from objects that follow one another, however they are written', async () => {
    for (const content of [`{"a":"${'x'.repeat(5000)}"}\n{"a":"y"}`, '{\n"a":"x"\n}\n{\n"a":"y"\n}'])
      expect(await ask('select count(*) as n from c', 'c.json', content)).toContain('| 2 |');
  });

  it('are said to be cut off where their end is missing', async () => {
    const cut = '{"a":[{"x":1}],"d":[{"y":1},{"y":';
    const sentence = 'cannot be read: its JSON is broken or cut off.';
    expect(await ask('show tables', 'cut.json', cut)).toContain(`\`cut_d\` ${sentence}`);
    expect(await ask('', 'cut.json', cut)).toContain(`Table \`d\` ${sentence}`);
  });

  it('say that one cannot be read which the engine refuses', async () => {
    const half = '{"d":[{"a":"\\ud800"}]}';
    expect(await ask('', 'c.json', half)).toContain(
      'The next table cannot be read: it is broken, or has too large rows.',
    );
    expect(await ask('select * from c_d', 'c.json', half)).toBe(
      '`c.json` cannot be read as a table: it is broken, or too large.\n\n',
    );
  });

  it('say what would be a table where there is none', async () => {
    expect(await ask('show tables', 'o.json', { a: { b: 1 }, c: { b: 1 } })).toBe(
      'There are no tables in this file. Tables are CSV, TSV, NDJSON, Parquet and SQLite files, sheets, and in JSON ' +
        'arrays of objects such as `{"data": [{"id": 1}]}`.\n\n',
    );
  });

  it('name all tables of a file, and describe the first of them', async () => {
    const many = Object.fromEntries([...'abcdefg'].map((name) => [name, [{ id: 1 }]]));
    expect(await ask('', 'many.json', many)).toContain('Further tables: `f`, `g`.');
  });

  it('have the properties of features as columns, the type of their geometry, and the box around it', async () => {
    const description = await ask('', 'earthquakes.geojson', PLACES);
    expect(description).toContain(
      'Table `features`: 3 rows of 11 columns. GeoJSON: the properties of its features are columns. ' +
        'Bounding box: x from -1.5 to 20, y from 40 to 50.9375.',
    );
    expect(await ask('select * from earthquakes_features', 'earthquakes.geojson', PLACES)).toContain(
      '| `id` | `place` | `size` | `type` | `deep` | `geometry_type` | `min_x` | `min_y` | `max_x` | `max_y` | `geometry` |\n' +
        '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n' +
        '| `a1` | `Köln` | 3 | `city` |  | `Point` | 6.9603 | 50.9375 | 6.9603 | 50.9375 | `{"type":"Point","coordinates":[6.9603,50.9375]}` |\n' +
        '| `a2` | `lake` | 4.5 |  | true | `Polygon` | -1.5 | 40 | 20 | 45.25 | ',
    );
  });

  it('have texts where the values of a column are of several types', async () => {
    const rows = [
      { code: 'A1', none: null, n: { high: 62, x: 'a' }, list: ['a', 1] },
      { code: 7, none: null, n: { high: 1, x: 5 }, list: [] },
    ];
    const description = await ask('', 'c.json', rows);
    expect(description).toContain('Values of several types, read as texts: `code`.');
    expect(description).toContain('| `code` | text | 0 | 2 |');
    expect(await ask("select * from c where code = 'A1'", 'c.json', rows)).toContain(
      '| `A1` |  | `{"high":62,"x":"a"}` | `["a","1"]` |',
    );
    expect(await ask("select code from c where n.x = '5' or list[1] = 'b'", 'c.json', rows)).toContain(
      '| `7` |',
    );
  });

  it('keep all digits of integers, in whatever column they are', async () => {
    const content =
      '[{"a":12345678901234567890,"b":123456789012345678901234567890,"c":1234567890123456789,"d":1e20,"e":1.5},' +
      '{"a":12345678901234567891,"b":123456789012345678901234567891,"c":1.5,"d":1,"e":null}]';
    expect(await ask('select * from ids', 'ids.json', content)).toContain(
      '| `12345678901234567890` | `123456789012345678901234567890` | `1234567890123456789` | 100000000000000000000 | 1.5 |\n' +
        '| `12345678901234567891` | `123456789012345678901234567891` | `1.5` | 1 |  |',
    );
    const sql = 'select count(distinct a) as a, count(distinct b) as b, typeof(any_value(a)) as t from ids';
    expect(await ask(sql, 'ids.json', content)).toContain('| 2 | 2 | `VARCHAR` |');
  });

  it('have numbers where integers of both signs are in a column, also of features', async () => {
    const rows = '[{"delay":-19,"far":-1},{"delay":0,"far":18446744073709551615},{"delay":null,"far":5}]';
    const sql = 'select sum(delay) as s, typeof(any_value(delay)) as t, min(far) as m from d';
    expect(await ask(sql, 'd.json', rows)).toContain('| -19 | `BIGINT` | `-1` |');
    const features = [-2, 3].map((size) => ({ type: 'Feature', properties: { size }, geometry: null }));
    expect(
      await ask('select sum(size) as s from f_features', 'f.json', { type: 'FeatureCollection', features }),
    ).toContain('| 1 |');
  });

  it('say which properties of features have values of several types', async () => {
    const features = ['A1', 7].map((code) => ({ type: 'Feature', properties: { code }, geometry: null }));
    expect(await ask('', 'f.geojson', { type: 'FeatureCollection', features })).toContain(
      'Table `features`: 2 rows of 7 columns. GeoJSON: the properties of its features are columns. ' +
        'Values of several types, read as texts: `code`.',
    );
  });
});
