/**
 * Tables as readers of others see them: their name, the names of their columns, and rows of values. Where `areTexts`, numbers are
 * texts.
 */
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import Papa from 'papaparse';
import initSqlJs from 'sql.js';
import XLSX from 'xlsx';
import { decoded } from './texts.mjs';

/** The readers of each kind. */
export const TABLES = {
  'CSV, TSV': delimited,
  JSON: json,
  Parquet: parquet,
  SQLite: database,
  XLSX: workbook,
  ODS: workbook,
  XLS: workbook,
  XLSB: workbook,
};

async function delimited(path) {
  const bytes = await readFile(path);
  const text = decoded(path.endsWith('.gz') ? gunzipSync(bytes) : bytes);
  const { data } = Papa.parse(text, { skipEmptyLines: true });
  return [{ ...withNames(undefined, data), areTexts: true }];
}

/** The first row names the columns, unless a cell of it is a number. */
function withNames(name, rows) {
  const [first = []] = rows;
  const areNames = first.every(
    (cell) => !(cell instanceof Date) && !/^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(cell),
  );
  const columns = first.map((cell) => (areNames ? String(cell ?? '').trim() : ''));
  return { name, columns, rows: areNames ? rows.slice(1) : rows };
}

async function json(path) {
  return arraysIn(JSON.parse(decoded(await readFile(path))), []);
}

/** Arrays of objects, of the value itself and of its members. */
function arraysIn(value, keys) {
  if (Array.isArray(value)) {
    const isTable = value.length > 0 && value.every((each) => isObject(each));
    return isTable ? [ofObjects(keys.join('.'), value)] : [];
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, each]) => arraysIn(each, [...keys, key]));
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The columns have no order. Features of GeoJSON and TopoJSON are read as their properties; the service has further columns. */
function ofObjects(name, objects) {
  const areFeatures = objects.every(({ type, properties, arcs }) =>
    arcs ? typeof type === 'string' : type === 'Feature' && isObject(properties),
  );
  const read = areFeatures ? objects.map(({ properties }) => properties ?? {}) : objects;
  const columns = [...new Set(read.flatMap((each) => Object.keys(each)))];
  const rows = read.map((each) => columns.map((column) => each[column] ?? null));
  return { name, columns, rows, areUnordered: true, areFeatures };
}

async function parquet(path) {
  const file = await asyncBufferFromFile(path);
  return [ofObjects(undefined, await parquetReadObjects({ file, compressors }))];
}

/** The tables of the user, without those of modules and of GeoPackage. */
const TABLES_OF_USER = `select name from sqlite_master where type = 'table' and sql not like 'create virtual%'
  and name not like 'sqlite%' and name not like 'rtree%' and name not like 'gpkg%'`;

async function database(path) {
  const { Database } = await initSqlJs();
  const opened = new Database(await readFile(path));
  const [found] = opened.exec(TABLES_OF_USER);
  const tables = found.values.map(([name]) => {
    const statement = opened.prepare(`select * from "${name.replaceAll('"', '""')}"`);
    const rows = [];
    while (statement.step()) rows.push(statement.get());
    return { name, columns: statement.getColumnNames(), rows };
  });
  opened.close();
  return tables;
}

async function workbook(path) {
  const { SheetNames, Sheets } = XLSX.read(await readFile(path), { cellDates: true });
  return SheetNames.map((name) => {
    const rows = XLSX.utils.sheet_to_json(Sheets[name], { header: 1, defval: null, blankrows: false });
    return withNames(name, withoutEmptyColumns(rows.filter((row) => row.some(isPresent))));
  }).filter(({ columns }) => columns.length > 0);
}

function isPresent(cell) {
  return (cell ?? '') !== '';
}

function withoutEmptyColumns(rows) {
  const width = Math.max(0, ...rows.map((row) => row.length));
  const isUsed = Array.from({ length: width }, (_, at) => rows.some((row) => isPresent(row[at])));
  return rows.map((row) => isUsed.flatMap((used, at) => (used ? [row[at] ?? null] : [])));
}
