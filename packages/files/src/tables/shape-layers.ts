import { MemoryFile, wholeOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import type { ZipArchive } from '../formats/zip-archive.js';
import { bytes, code } from '../markdown.js';
import { UnreadableFile } from '../unreadable-file.js';
import { moreTables, readMore } from './more-tables.js';
import { rowsSource } from './rows-source.js';
import type { TableSource } from './table-source.js';

/** A layer of a shapefile in an archive: entries whose names differ in their endings. */
interface Layer {
  name: string;
  shapes: string;
  /** The attributes, as a table of dBASE. */
  table: string;
  /** The coordinate system. Need not be there, as the next one. */
  system: string;
  /** The encoding of the texts of the table. */
  encoding: string;
}

/** Layers of one archive that are read, at most. */
const MOST = 30;
/** Bytes of the tables of all layers, unpacked, at most: they are kept in memory. */
const LARGEST = 32 * 1024 * 1024;
/** Bytes of the beginning of the shapes, which has their type and box. */
const HEADER = 100;
const SMALL = 64 * 1024;

const NO_TABLE = 'is no table that is read here';
const TOO_LARGE = `and the tables before it have more than ${bytes(LARGEST)}: send it by itself`;

/** How a coordinate system begins as text (OGC 01-009, "Coordinate Transformation Services", and ISO 19162). */
const SYSTEM = /^\s*(?:PROJ|GEOG|GEOC|GEOD|COMPD_|LOCAL_|BOUND|COMPOUND)\w*\s*\[\s*"([^"]{1,200})"/;

/** The layers of shapefiles in an archive that are read: those whose table is there too. */
export function layersOf(zip: ZipArchive): Layer[] {
  const layers = zip.entries.flatMap(({ name: shapes, encrypted }) => {
    if (encrypted || !/\.shp$/i.test(shapes) || shapes.startsWith('__MACOSX/')) return [];
    const base = shapes.slice(0, -'.shp'.length);
    const [table, system, encoding] = ['dbf', 'prj', 'cpg'].map((ending) => `${base}.${ending}`);
    if (!zip.has(table!)) return [];
    return { name: base.split(/[/\\]/).at(-1)!, shapes, table: table!, system: system!, encoding: encoding! };
  });
  return layers.slice(0, MOST);
}

/**
 * The tables of the layers of shapefiles in an archive; none if there is no layer, or nothing that reads them.
 *
 * @throws {UnreadableFile} if the archive is broken
 * @throws {ReadingStopped} if it unpacks to more than the limit, or the time is over
 */
export async function layerTables(zip: ZipArchive, archive: FileSource): Promise<TableSource[]> {
  const sources: TableSource[] = [];
  let rest = LARGEST;
  for (const layer of layersOf(zip)) {
    const content = await wholeOf(zip.read(layer.table), rest);
    rest -= content?.length ?? 0;
    const why = content ? NO_TABLE : TOO_LARGE;
    const [table = closed(layer, why)] = content
      ? await moreTables(await tableFile(zip, layer, content, archive))
      : [];
    sources.push({ ...table, sheet: layer.name, layer: await aboutShapes(zip, layer, archive) });
  }
  return sources;
}

async function tableFile(
  zip: ZipArchive,
  { table, encoding }: Layer,
  content: Uint8Array,
  archive: FileSource,
): Promise<FileSource> {
  const declared = (await textOf(zip, encoding)).trim().replace(/^ANSI\s+/i, '');
  const type = /^[\w.:-]{1,40}$/.test(declared) ? `application/x-dbf; charset=${declared}` : '';
  return new MemoryFile(table, content, archive, type);
}

/** What the shapes are, and where, in sentences. */
async function aboutShapes(zip: ZipArchive, { shapes, system }: Layer, archive: FileSource): Promise<string> {
  const beginning = await beginningOf(zip.read(shapes));
  const read = await readMore(new MemoryFile(shapes, beginning, archive)).catch(undefinedIfUnreadable);
  const [, name] = SYSTEM.exec(await textOf(zip, system)) ?? [];
  const sentences = [read?.facts[0], name && `Coordinate system: ${code(name, 200)}.`];
  return sentences.filter(Boolean).join(' ');
}

function closed({ name, table }: Layer, why: string): TableSource {
  return { ...rowsSource(name, noRows), fault: `is not opened: ${code(table)} ${why}` };
}

async function textOf(zip: ZipArchive, entry: string): Promise<string> {
  return Buffer.from((await wholeOf(zip.read(entry), SMALL)) ?? []).toString('utf8');
}

async function beginningOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  let beginning: Uint8Array = new Uint8Array();
  for await (const chunk of chunks) {
    beginning = Buffer.concat([beginning, chunk]);
    if (beginning.length >= HEADER) break;
  }
  return beginning.subarray(0, HEADER);
}

async function* noRows(): AsyncGenerator<string[]> {}

function undefinedIfUnreadable(error: unknown): undefined {
  if (!(error instanceof UnreadableFile)) throw error;
}
