import { createReadStream } from 'node:fs';
import { columnTypes, notesOfTypes, valueOf } from './column-types.js';
import { identifier, literal } from './engine.js';
import type { TableEngine } from './engine.js';
import { changeLines } from './json-repair.js';
import { LONGEST_ROW } from './table.js';

/** A column as it is read from a table of the engine. */
export interface TypedColumn {
  name: string;
  value: string;
  type: string;
}

/** Texts, and numbers with more digits than a double has. */
const LONG = /"(?:[^"\\]|\\.)*"|-?\d[\d.]{17,}(?:[eE][+-]?\d+)?/g;
/** A part of such a number. */
const HAS_LONG = /\d[\d.]{17}/;
const OVERLAP = 18;

/**
 * Reads columns of numbers again where a double would lose digits, or has no number: exactly, or as texts. The engine knows
 * only doubles in JSON.
 *
 * @param path of the JSON, one object a line; it is changed
 * @returns sentences about these columns
 */
export async function keepDigits(engine: TableEngine, source: string, path: string): Promise<string[]> {
  const columns = await columnsOf(engine, `from ${source}`);
  const numbers = columns.filter(({ type }) => type === 'DOUBLE');
  const nested = columns.filter(({ type }) => type.includes('DOUBLE') && type !== 'DOUBLE');
  const hasLong = numbers.length + nested.length > 0 && (await hasLongNumbers(path));
  const doubtful = hasLong
    ? numbers
    : await columnsWith(engine, source, numbers, (value) => `max(abs(${value})) >= 1e15`);
  const notes =
    hasLong && nested.length > 0
      ? ['Numbers in objects and lists are rounded to 17 digits; some have more.']
      : [];
  if (doubtful.length === 0) return notes;
  if (hasLong) await quoteLongNumbers(path);
  const texts = 'source."(digits)"';
  const asTexts = doubtful.map(({ value }) => `${value}: 'VARCHAR'`).join(', ');
  await engine.run(
    `create table ${texts} as from read_json(${literal(path)}, columns = {${asTexts}}, maximum_object_size = ${LONGEST_ROW})`,
  );
  const select = async (sql: string, limit: number) => (await engine.select(sql, limit)).rows;
  const cells = doubtful.map(({ value }) => `digits.${value}`);
  const types = await columnTypes(cells, `${texts} digits`, select);
  const values = doubtful.map(({ value }, at) => `${valueOf(cells[at]!, types[at]!)} as ${value}`);
  await engine.run(
    `create or replace table ${source} as select doubles.* replace (${values.join(', ')}) ` +
      `from ${source} doubles positional join ${texts} digits`,
  );
  await engine.run(`drop table ${texts}`);
  return [
    ...notes,
    ...notesOfTypes(
      doubtful.map(({ name }) => name),
      types,
    ),
  ];
}

async function hasLongNumbers(path: string): Promise<boolean> {
  let rest = '';
  for await (const chunk of createReadStream(path, 'latin1') as AsyncIterable<string>) {
    const text = rest + chunk;
    if (HAS_LONG.test(text)) return true;
    rest = text.slice(-OVERLAP);
  }
  return false;
}

/** Makes texts of long numbers, of which the engine keeps all digits. */
function quoteLongNumbers(path: string): Promise<void> {
  return changeLines(path, (line) =>
    line.replace(LONG, (part) => (part.startsWith('"') ? part : `"${part}"`)),
  );
}

/** The columns of which a condition is true. */
export async function columnsWith(
  engine: TableEngine,
  source: string,
  columns: TypedColumn[],
  condition: (value: string) => string,
): Promise<TypedColumn[]> {
  if (columns.length === 0) return [];
  const are = await engine.row(
    `select ${columns.map(({ value }) => condition(value)).join(', ')} from ${source}`,
  );
  return columns.filter((_column, index) => are[index] === true);
}

export async function columnsOf(engine: TableEngine, query: string): Promise<TypedColumn[]> {
  const { rows } = await engine.select(`describe ${query}`, Infinity);
  return rows.map(([name, type]) => ({
    name: name as string,
    value: identifier(name as string),
    type: type as string,
  }));
}
