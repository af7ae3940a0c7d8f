import { fileBytes, readOne } from '../../../test/support/read-tables.js';
import { readShapes } from './shapes.js';

type Record = Buffer;

const doubles = (...values: number[]) => Buffer.from(Float64Array.from(values).buffer);
const counts = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer);
const NULL_SHAPE = counts(0);

/** A shapefile with shapes of one type, each from its type on. */
function shp(type: number, records: Record[]): Buffer {
  const header = Buffer.alloc(100);
  header.writeInt32BE(9994, 0);
  header.writeInt32LE(1000, 28);
  header.writeInt32LE(type, 32);
  header.set(doubles(-1.5, -2, 10.123456789, 20), 36);
  const parts = records.map((record, index) => {
    const head = Buffer.alloc(8);
    head.writeInt32BE(index + 1, 0);
    head.writeInt32BE(record.length / 2, 4);
    return Buffer.concat([head, record]);
  });
  const file = Buffer.concat([header, ...parts]);
  file.writeInt32BE(file.length / 2, 24);
  return file;
}

describe('A shapefile', () => {
  it('of points is a table of where they are', async () => {
    const points = [
      Buffer.concat([counts(1), doubles(10.123456789, -2)]),
      NULL_SHAPE,
      Buffer.concat([counts(1), doubles(-1.5, 20)]),
      Buffer.concat([counts(1), doubles(NaN, 20)]),
    ];
    expect(await readOne(readShapes, shp(1, points))).toEqual({
      title: 'Shapefile (SHP)',
      facts: [
        'Points, x from -1.5 to 10.123457, y from -2 to 20.',
        'Its attributes are in the file beside it whose name ends with `.dbf`: send that one, a ZIP archive of all its files, or GeoJSON.',
      ],
      columns: ['shape', 'x', 'y'],
      rows: [
        ['1', '10.123456789', '-2'],
        ['2', null, null],
        ['3', '-1.5', '20'],
        ['4', null, null],
      ],
      notes: [],
    });
  });

  it.each([
    [3, 'Lines'],
    [5, 'Polygons'],
    [15, 'Polygons'],
    [25, 'Polygons'],
    [31, 'Surfaces'],
  ])('of type %i is a table of boxes, and counts of parts and points', async (type, kind) => {
    const shape = Buffer.concat([counts(type), doubles(0, 1, 2, 3), counts(2, 700), Buffer.alloc(300_000)]);
    const read = await readOne(readShapes, shp(type, [shape, NULL_SHAPE, shape]));
    expect(read.facts[0]).toContain(`${kind}, x from`);
    expect(read.columns).toEqual(['shape', 'x_min', 'y_min', 'x_max', 'y_max', 'parts', 'points']);
    expect(read.rows).toEqual([
      ['1', '0', '1', '2', '3', '2', '700'],
      ['2', null, null, null, null, null, null],
      ['3', '0', '1', '2', '3', '2', '700'],
    ]);
  });

  it('of groups of points has their number, and no parts', async () => {
    const group = Buffer.concat([counts(8), doubles(0, 1, 2, 3), counts(4), doubles(0, 1, 2, 3, 0, 0, 1, 1)]);
    expect((await readOne(readShapes, shp(8, [group]))).rows).toEqual([['1', '0', '1', '2', '3', null, '4']]);
  });

  it('that is cut off has the shapes before the cut, and the answer says so', async () => {
    const point = Buffer.concat([counts(1), doubles(1, 2)]);
    const { rows, notes } = await readOne(readShapes, shp(1, [point, point]).subarray(0, -3));
    expect(rows).toEqual([['1', '1', '2']]);
    expect(notes).toEqual(['The file is cut off: its last shapes are missing.']);
  });

  it('has an index, which has no shapes', async () => {
    const index = Buffer.concat([shp(5, []), Buffer.from([0, 0, 0, 50, 0, 0, 0, 64])]);
    expect(await readShapes(fileBytes(index), index)).toEqual({
      title: 'Index of a shapefile (SHX)',
      facts: ['Its shapes are in the file beside it whose name ends with `.shp`.'],
      tables: [],
    });
  });

  it('with shapes of an unknown type is refused', async () => {
    const file = shp(99, []);
    await expect(readShapes(fileBytes(file), file)).rejects.toThrow(
      'This shapefile has shapes of an unknown type (99).',
    );
  });

  it('is not what has other first bytes', async () => {
    const file = shp(1, []).fill(1, 4, 5);
    expect(await readShapes(fileBytes(file), file)).toBeUndefined();
  });
});
