import { JsonShape } from '../formats/json-shape.js';
import type { JsonTable } from '../formats/json-shape.js';
import { readShape } from '../formats/json.js';
import { linesOfArray } from './json-lines.js';
import type { TableSource } from './table-source.js';

/** How JSON begins that is an array of objects, and how if it has one in each line. */
const ARRAY = /^\s*\[\s*\{/;
const LINES = /^\s*\{[^\n]*\}\r?\n\s*\{/;

/**
 * The tables of JSON: the objects of an array, or those that follow one another; and of a single object, each array of objects that
 * is reached through objects only.
 *
 * @param chunks gives the JSON as UTF-8, from its beginning each time that it is called
 * @param beginning how it begins
 * @param notes sentences about how it is read
 */
export async function jsonTables(
  chunks: () => AsyncIterable<Uint8Array>,
  beginning: string,
  notes: string[],
): Promise<TableSource[]> {
  if (ARRAY.test(beginning)) return [jsonSource(() => linesOfArray(chunks()), notes)];
  if (LINES.test(beginning)) return [jsonSource(chunks, notes)];
  const shape = new JsonShape();
  await readShape(chunks(), shape);
  shape.closeAll();
  if (shape.values > 1) return shape.objects === shape.values ? [jsonSource(chunks, notes)] : [];
  const box = boxOfTopology(beginning);
  return shape.tables.map((table) => jsonSource(chunks, [...notes, ...box], table));
}

/** What TopoJSON states about the box around all of its objects. */
function boxOfTopology(beginning: string): string[] {
  const [, box] =
    /^\s*\{\s*"type"\s*:\s*"Topology"\s*,[^{}]{0,200}"bbox"\s*:\s*\[([-+\d.eE,\s]{1,200})\]/.exec(
      beginning,
    ) ?? [];
  const [x, y, toX, toY, ...others] = box?.split(',').map((each) => each.trim()) ?? [];
  const isPlane = toY !== undefined && others.length === 0;
  return isPlane ? [`Bounding box of the file: x from ${x} to ${toX}, y from ${y} to ${toY}.`] : [];
}

function jsonSource(
  chunks: () => AsyncIterable<Uint8Array>,
  notes: string[],
  table?: JsonTable,
): TableSource {
  return {
    sheet: table && table.path.length > 0 ? table.path.join('.') : undefined,
    ...(table && table.end === undefined && { fault: 'cannot be read: its JSON is broken or cut off' }),
    async write(workspace) {
      const part = table ? linesOfArray(partOf(chunks(), table)) : chunks();
      return { format: 'json', path: await workspace.write(part), notes };
    },
  };
}

async function* partOf(
  chunks: AsyncIterable<Uint8Array>,
  { start, end = Infinity }: JsonTable,
): AsyncGenerator<Uint8Array> {
  let offset = 0;
  for await (const chunk of chunks) {
    if (offset + chunk.length > start) yield chunk.subarray(Math.max(0, start - offset), end - offset);
    offset += chunk.length;
    if (offset >= end) return;
  }
}
