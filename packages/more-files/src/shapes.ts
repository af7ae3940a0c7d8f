import type { FileBytes } from './file-bytes.js';
import type { ReadFile } from './read-table.js';
import { UnreadableTableFile } from './unreadable-table-file.js';

/** The first bytes of a shapefile (ESRI Shapefile Technical Description, July 1998): the code 9994, and unused numbers. */
const SIGNATURE = Buffer.from('0000270a0000000000000000', 'hex');
const HEADER = 100;
const RECORD_HEADER = 8;
/** Bytes that are read at a time. */
const CHUNK = 256 * 1024;
/** Bytes of a record that say what is needed of its shape: the type, the box, and two counts. */
const NEEDED = 44;

const KINDS = new Map([
  [0, 'No shapes'],
  [1, 'Points'],
  [3, 'Lines'],
  [5, 'Polygons'],
  [8, 'Groups of points'],
]);
const MULTIPATCH = 31;
const POINT = 1;
const POINTS = 8;

const ONLY_SHAPES =
  'Its attributes are in the file beside it whose name ends with `.dbf`: send that one, a ZIP archive of all its files, or GeoJSON.';

/** The index of a shapefile has the same header. Its first record names the place of the first shape, in words of 16 bits. */
const FIRST_PLACE = HEADER / 2;
const INDEX: ReadFile = {
  title: 'Index of a shapefile (SHX)',
  facts: ['Its shapes are in the file beside it whose name ends with `.shp`.'],
  tables: [],
};

const COLUMNS_OF_POINTS = ['shape', 'x', 'y'];
const COLUMNS = ['shape', 'x_min', 'y_min', 'x_max', 'y_max', 'parts', 'points'];

/** Reads the shapes of a shapefile: of points where they are, of others the box and the counts of parts and points. */
export async function readShapes(file: FileBytes, head: Uint8Array): Promise<ReadFile | undefined> {
  if (!SIGNATURE.equals(head.subarray(0, SIGNATURE.length)) || head.length < HEADER) return undefined;
  const header = Buffer.from(head.buffer, head.byteOffset, head.length);
  if (header.length >= HEADER + 4 && header.readUInt32BE(HEADER) === FIRST_PLACE) return INDEX;
  const type = header.readUInt32LE(32);
  const kind = type === MULTIPATCH ? 'Surfaces' : KINDS.get(type % 10);
  if (kind === undefined || type > MULTIPATCH)
    throw new UnreadableTableFile(`This shapefile has shapes of an unknown type (${type}).`);
  const [left, bottom, right, top] = [36, 44, 52, 60].map((at) => shown(header.readDoubleLE(at)));
  const isOfPoints = type % 10 === POINT && type !== MULTIPATCH;
  return {
    title: 'Shapefile (SHP)',
    facts: [`${kind}, x from ${left} to ${right}, y from ${bottom} to ${top}.`, ONLY_SHAPES],
    tables: [
      {
        name: undefined,
        columns: isOfPoints ? COLUMNS_OF_POINTS : COLUMNS,
        notes: [],
        rows: (notes) => rowsOf(file, isOfPoints, notes),
      },
    ],
  };
}

async function* rowsOf(
  file: FileBytes,
  isOfPoints: boolean,
  notes: string[],
): AsyncGenerator<(string | null)[]> {
  for await (const { number, beginning } of recordsOf(file, notes)) {
    const type = beginning.length < 4 ? 0 : beginning.readUInt32LE(0);
    const numbers = isOfPoints ? coordinatesOf(beginning, 2) : coordinatesOf(beginning, 4);
    const isThere = type !== 0 && numbers?.every(Number.isFinite);
    const counts = isOfPoints ? [] : countsOf(type, beginning);
    const empty = isOfPoints ? [null, null] : [null, null, null, null, null, null];
    yield [String(number), ...(isThere ? [...numbers!.map(String), ...counts] : empty)];
  }
}

/** Coordinates are IEEE doubles behind the type; undefined if they are cut off. */
function coordinatesOf(beginning: Buffer, count: number): number[] | undefined {
  if (beginning.length < 4 + 8 * count) return undefined;
  return Array.from({ length: count }, (_, index) => beginning.readDoubleLE(4 + 8 * index));
}

/** How many parts and points a shape has. A group of points has no parts. */
function countsOf(type: number, beginning: Buffer): (string | null)[] {
  const count = (at: number) => (beginning.length < at + 4 ? null : String(beginning.readUInt32LE(at)));
  return type % 10 === POINTS ? [null, count(36)] : [count(36), count(40)];
}

/** The number and the first bytes of each record. What is between them is passed over. */
async function* recordsOf(
  file: FileBytes,
  notes: string[],
): AsyncGenerator<{ number: number; beginning: Buffer }> {
  let chunk: Buffer = Buffer.alloc(0);
  let start = 0;
  const bytesAt = async (at: number, length: number) => {
    if (at < start || at + length > start + chunk.length) {
      file.checkTime();
      start = at;
      chunk = Buffer.from(await file.read(at, Math.min(file.size, at + Math.max(length, CHUNK))));
    }
    return chunk.subarray(at - start, at - start + length);
  };
  for (let at = HEADER; at + RECORD_HEADER <= file.size;) {
    const header = await bytesAt(at, RECORD_HEADER);
    const length = 2 * header.readUInt32BE(4);
    const end = at + RECORD_HEADER + length;
    if (end > file.size) {
      notes.push('The file is cut off: its last shapes are missing.');
      return;
    }
    const beginning = await bytesAt(at + RECORD_HEADER, Math.min(length, NEEDED));
    yield { number: header.readUInt32BE(0), beginning };
    at = end;
  }
}

/** A coordinate for readers: six decimals are 10 cm in degrees. */
function shown(coordinate: number): string {
  return String(Number(coordinate.toFixed(6)));
}
