import { code } from '../markdown.js';
import { identifier, literal } from './engine.js';
import { columnsOf, columnsWith, keepDigits } from './json-digits.js';
import type { TypedColumn } from './json-digits.js';
import type { TableEngine } from './engine.js';
import { leaveOutBroken } from './json-repair.js';
import { showNumber } from './result-forms.js';
import { checkWidth, columnNames, LONGEST_ROW } from './table.js';

const BOX = ['min_x', 'min_y', 'max_x', 'max_y'];
/** The first two numbers of each position of a geometry: only in those does a number follow a bracket. */
const POSITION = String.raw`\[\s*(-?[0-9.eE+-]+)\s*,\s*(-?[0-9.eE+-]+)`;

/** Reads objects of JSON into the engine, under a name. @returns sentences about what was read */
export async function importJson(engine: TableEngine, name: string, path: string): Promise<string[]> {
  const source = `source.${identifier(name)}`;
  const broken = await readObjects(engine, source, path);
  const digits = await keepDigits(engine, source, path);
  const columns = await columnsOf(engine, `from ${source}`);
  const isGeo = await hasFeatures(engine, source, columns);
  const isTopology = await hasArcs(engine, source, columns);
  const read = isGeo
    ? await featureColumns(engine, source, columns)
    : isTopology
      ? await topologyColumns(engine, source, columns)
      : columns;
  checkWidth(read.length);
  const given = read.map((column) => column.name);
  const names = columnNames(given, read.length);
  const plain = await withoutHugeIntegers(engine, source, read);
  const values = plain.map((column, index) => `${withoutJson(column)} as ${identifier(names[index]!)}`);
  // The boxes of features are computed once.
  const kind = isGeo ? 'table' : 'view';
  await engine.run(`create ${kind} ${identifier(name)} as select ${values.join(', ')} from ${source}`);
  // A column without any value is of the type JSON too.
  const json = read.filter(({ type }) => type === 'JSON');
  const mixed = await columnsWith(engine, source, json, (value) => `count(${value}) > 0`);
  return [
    ...broken,
    ...digits,
    ...(isGeo ? await boxNote(engine, name, names.slice(-BOX.length - 1, -1)) : []),
    ...(isTopology ? ['TopoJSON: the properties of its geometries are columns, without their arcs.'] : []),
    ...(mixed.length === 0 ? [] : [`Values of several types, read as texts: ${named(mixed)}.`]),
  ];
}

/** Reads the objects into a table. @returns a sentence about lines that are left out */
async function readObjects(engine: TableEngine, source: string, path: string): Promise<string[]> {
  // Other dates than those of ISO 8601 are texts: which number is the day would be a guess.
  // To look at all rows for the types, and at the rows, takes more memory than the engine has for other statements.
  const read = () =>
    engine.runWithMoreMemory(
      `create table ${source} as from read_json(${literal(path)}, dateformat = '%Y-%m-%d', ` +
        `sample_size = -1, field_appearance_threshold = 0, maximum_object_size = ${LONGEST_ROW})`,
    );
  try {
    await read();
    return [];
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes('Malformed JSON')) throw error;
    const note = await leaveOutBroken(path);
    if (note === undefined) throw error;
    await read();
    return [note];
  }
}

/** The engine takes this type for integers of both signs, too. Those of more than 64 bits become texts: Parquet would lose digits. */
async function withoutHugeIntegers(
  engine: TableEngine,
  source: string,
  columns: TypedColumn[],
): Promise<TypedColumn[]> {
  const huge = columns.filter(({ type }) => /^U?HUGEINT$/.test(type));
  const small = await columnsWith(engine, source, huge, (value) => {
    return `bool_and(try_cast(${value} as bigint) is not distinct from ${value})`;
  });
  return columns.map((column) => {
    if (!huge.includes(column)) return column;
    const type = small.includes(column) ? 'BIGINT' : 'VARCHAR';
    return { ...column, value: `cast(${column.value} as ${type})`, type };
  });
}

/** A value of several types is of the type JSON, which compares texts with their quotes: it becomes a text. */
function withoutJson({ value, type }: TypedColumn): string {
  if (type === 'JSON') return `${value} ->> '$'`;
  const texts = type.replace(/"(?:[^"]|"")*"|\bJSON\b(?=[,)[]|$)/g, (part) =>
    part === 'JSON' ? 'VARCHAR' : part,
  );
  return texts === type ? value : `cast(to_json(${value}) as ${texts})`;
}

/** Whether the rows are features of GeoJSON (RFC 7946, 3.2). */
async function hasFeatures(engine: TableEngine, source: string, columns: TypedColumn[]): Promise<boolean> {
  const typeOf = (name: string) => columns.find((column) => column.name === name)?.type;
  if (typeOf('type') !== 'VARCHAR' || !typeOf('geometry') || !typeOf('properties')?.startsWith('STRUCT'))
    return false;
  const [areFeatures] = await engine.row(
    `select bool_and("type" is not distinct from 'Feature') from ${source}`,
  );
  return areFeatures === true;
}

/** Whether the rows are geometries of TopoJSON that have properties. */
async function hasArcs(engine: TableEngine, source: string, columns: TypedColumn[]): Promise<boolean> {
  const typeOf = (name: string) => columns.find((column) => column.name === name)?.type;
  if (typeOf('type') !== 'VARCHAR' || !typeOf('properties')?.startsWith('STRUCT')) return false;
  if (!typeOf('arcs') && !typeOf('coordinates')) return false;
  const [areGeometries] = await engine.row(
    `select bool_and("type" is null or regexp_full_match("type", '(Multi)?(Point|LineString|Polygon)|GeometryCollection')) from ${source}`,
  );
  return areGeometries === true;
}

/** The columns of geometries of TopoJSON: what names them, their properties and their type. */
async function topologyColumns(
  engine: TableEngine,
  source: string,
  columns: TypedColumn[],
): Promise<TypedColumn[]> {
  const left = ['type', 'properties', 'arcs', 'coordinates', 'geometries'];
  return [
    ...columns.filter(({ name }) => !left.includes(name)),
    ...(await propertiesOf(engine, source)),
    { name: 'geometry_type', value: '"type"', type: 'VARCHAR' },
  ];
}

async function propertiesOf(engine: TableEngine, source: string): Promise<TypedColumn[]> {
  const properties = await columnsOf(engine, `select properties.* from ${source}`);
  return properties.map((column) => ({ ...column, value: `properties.${column.value}` }));
}

/** The columns of features: their properties, the type of their geometry, and the box around it. */
async function featureColumns(
  engine: TableEngine,
  source: string,
  columns: TypedColumn[],
): Promise<TypedColumn[]> {
  const others = columns.filter(({ name }) => !['type', 'properties', 'geometry'].includes(name));
  const json = 'to_json(geometry)';
  const box = BOX.map((name, index) => ({
    name,
    value:
      `list_${name.slice(0, 3)}(list_transform(regexp_extract_all(cast(${json} as varchar), ` +
      `${literal(POSITION)}, ${(index % 2) + 1}), lambda number: try_cast(number as double)))`,
    type: 'DOUBLE',
  }));
  return [
    ...others,
    ...(await propertiesOf(engine, source)),
    { name: 'geometry_type', value: `${json} ->> '$.type'`, type: 'VARCHAR' },
    ...box,
    { name: 'geometry', value: `cast(${json} as varchar)`, type: 'VARCHAR' },
  ];
}

async function boxNote(engine: TableEngine, name: string, box: string[]): Promise<string[]> {
  const [left, bottom, right, top] = box.map(identifier);
  const corners = await engine.row(
    `select min(${left}), min(${bottom}), max(${right}), max(${top}) from ${identifier(name)}`,
  );
  const [x, y, toX, toY] = corners.map((corner) => (corner === null ? '' : showNumber(Number(corner))));
  const facts = 'GeoJSON: the properties of its features are columns.';
  return [x === '' ? facts : `${facts} Bounding box: x from ${x} to ${toX}, y from ${y} to ${toY}.`];
}

function named(columns: TypedColumn[]): string {
  return columns.map(({ name }) => code(name, 60)).join(', ');
}
