import { describedBy } from '../../../test/support/described-file.js';
import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { zipOf } from '../../../test/support/hostile-files.mjs';
import { FilesHandler } from './index.js';

/** The header of a shapefile of polygons, which has no shapes. */
const SHAPES = Buffer.alloc(100);
SHAPES.writeInt32BE(9994, 0);
SHAPES.writeInt32LE(5, 32);
SHAPES.set(Buffer.from(Float64Array.of(1, 2, 3, 4).buffer), 36);

const SYSTEM = 'PROJCS["NAD83 / Utah North",GEOGCS["NAD83",DATUM["North_American_Datum_1983"]]]';

/** A table of dBASE with a name and an area. */
function dbf(...rows: [name: Buffer, area: number][]): Buffer {
  const header = Buffer.alloc(32);
  header.set([0x03, 124, 2, 29]);
  header.writeUInt32LE(rows.length, 4);
  header.writeUInt16LE(32 + 2 * 32 + 1, 8);
  header.writeUInt16LE(1 + 10 + 5, 10);
  const descriptors = [
    ['NAME', 'C', 10],
    ['AREA', 'N', 5],
  ].map(([name, type, length]) => {
    const descriptor = Buffer.alloc(32);
    descriptor.write(String(name), 'latin1');
    descriptor.write(String(type), 11);
    descriptor[16] = Number(length);
    return descriptor;
  });
  const records = rows.map(([name, area]) =>
    Buffer.concat([
      Buffer.from(' '),
      name,
      Buffer.alloc(10 - name.length, 32),
      Buffer.from(String(area).padStart(5)),
    ]),
  );
  return Buffer.concat([header, ...descriptors, Buffer.from('\r'), ...records, Buffer.from([0x1a])]);
}

/** `Łódź` in ISO-8859-2, and in Windows-1250. */
const [LODZ, LODZ_OF_WINDOWS] = ['a3f364bc', 'a3f3649f'].map((hex) => Buffer.from(hex, 'hex'));
const PLACES = dbf([Buffer.from('Oslo'), 454], [LODZ!, 293]);

describe('A shapefile in a ZIP archive', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (request: string, archive: Buffer) =>
    answerOf(handler, [filePart('map.zip', archive), request]);

  it('is described as a layer: its shapes, its box, its coordinate system, and its table', async () => {
    const archive = zipOf([
      ['data/places.shp', SHAPES],
      ['data/places.SHX', Buffer.from('index')],
      ['data/places.dbf', PLACES],
      ['data/places.prj', Buffer.from(SYSTEM)],
      ['data/places.cpg', Buffer.from('ISO-8859-2\n')],
    ]);
    const answer = await describedBy(handler, 'map.zip', archive);
    expect(answer).toContain(
      'Layer `places`: Polygons, x from 1 to 3, y from 2 to 4. Coordinate system: `NAD83 / Utah North`. ' +
        'Its attributes: 2 rows of 2 columns.',
    );
    expect(answer).toContain('| `Łódź` | 293 |');
    expect(answer).not.toContain('Tables in an archive are not opened');
  });

  it('is a table for questions', async () => {
    const archive = zipOf([
      ['places.shp', SHAPES],
      ['places.dbf', dbf([LODZ_OF_WINDOWS!, 293])],
      ['places.cpg', Buffer.from('ANSI 1250')],
    ]);
    expect(await ask('select "NAME" from map_places where "AREA" < 300', archive)).toContain('| `Łódź` |');
  });

  it('may have several layers; a table without shapes is not opened, and the answer says so', async () => {
    const archive = zipOf([
      ['a.shp', SHAPES],
      ['a.dbf', PLACES],
      ['b.shp', SHAPES],
      ['b.dbf', dbf([Buffer.from('Bergen'), 465])],
      ['c.dbf', PLACES],
      ['d.shp', SHAPES],
      ['__MACOSX/a.shp', SHAPES],
      ['__MACOSX/a.dbf', PLACES],
    ]);
    const answer = await describedBy(handler, 'map.zip', archive);
    expect(answer.match(/^Layer `\w+`/gm)).toEqual(['Layer `a`', 'Layer `b`']);
    expect(answer).toContain('Tables in an archive are not opened: for that, send their files.');
    const sum = await ask('select sum("AREA") as s from (from map_a union all from map_b)', archive);
    expect(sum).toContain('1212');
  });

  it('whose table is broken is described without it, and the answer says why', async () => {
    const archive = zipOf([
      ['a.shp', SHAPES],
      ['a.dbf', Buffer.from('no table')],
      ['b.shp', SHAPES],
      ['b.dbf', PLACES],
    ]);
    const answer = await describedBy(handler, 'map.zip', archive);
    expect(answer).toContain('Layer `b`: Polygons');
    expect(answer).toContain('Layer `a` is not opened: `a.dbf` is no table that is read here.');
  });
});
