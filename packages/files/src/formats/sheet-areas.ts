import { relationshipsOf } from './relationships.js';
import { columnOf, unescaped } from './sheet.js';
import type { MergedCell, SheetArea } from './text-sheet.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

/** Tables and merged cells of one sheet that are read. */
const MOST_TABLES = 20;
const MOST_MERGED = 10_000;

/** The tables that somebody made of areas of a worksheet (ECMA-376 part 1, 18.5). */
export async function tablesOfSheet(zip: ZipArchive, sheet: string): Promise<SheetArea[]> {
  const parts = [...(await relationshipsOf(zip, sheet)).values()].filter(({ type }) => type === 'table');
  const tables: SheetArea[] = [];
  for (const { target } of parts.slice(0, MOST_TABLES)) {
    let area: SheetArea | undefined;
    await readXml(zip.read(target), {
      open(name, attributes) {
        if (name === 'table') area = areaOf(attributes);
        if (name === 'tableColumn') area?.names.push(unescaped(attributes['name'] ?? ''));
      },
    });
    if (area) tables.push(area);
  }
  return tables;
}

function areaOf(attributes: Record<string, string>): SheetArea | undefined {
  const { ref: reference = '', displayName, name = '' } = attributes;
  const range = rangeOf(reference);
  if (!range) return undefined;
  const totals = Number(attributes['totalsRowCount'] ?? 0);
  return {
    name: unescaped(displayName ?? name),
    reference,
    ...range,
    data: [range.rows[0] + Number(attributes['headerRowCount'] ?? 1), range.rows[1] - totals],
    hasTotals: totals > 0,
    names: [],
  };
}

/** `D5:E9`; undefined if it is no reference. */
function rangeOf(reference: string): Pick<SheetArea, 'rows' | 'columns'> | undefined {
  const [, left, top, right = left, bottom = top] =
    /^\$?([A-Z]{1,3})\$?(\d{1,7})(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?$/.exec(reference) ?? [];
  if (left === undefined) return undefined;
  return { rows: [Number(top), Number(bottom)], columns: [columnOf(left)!, columnOf(right)!] };
}

const MERGED = /<(?:[\w.-]{1,40}:)?mergeCell\s[^<>]{0,100}?\bref=["']([A-Z0-9:$]{1,30})["']/g;
/** Characters that one of these elements has at most. */
const LONGEST = 200;

/**
 * The merged cells of several rows, by their first row. They come after the rows in a worksheet, so that it has to be
 * unpacked twice: to search the bytes is what takes least.
 */
export async function mergedCells(
  chunks: AsyncIterable<Uint8Array>,
): Promise<Map<number, Omit<MergedCell, 'isNumber'>[]>> {
  const references = new Set<string>();
  let rest = '';
  for await (const chunk of chunks) {
    const text = rest + Buffer.from(chunk).toString('latin1');
    for (const [, reference] of text.includes('mergeCell') ? text.matchAll(MERGED) : []) {
      if (references.size < MOST_MERGED) references.add(reference!);
    }
    rest = text.slice(-LONGEST);
  }
  const merged = new Map<number, Omit<MergedCell, 'isNumber'>[]>();
  for (const { rows, columns } of [...references].flatMap((reference) => rangeOf(reference) ?? [])) {
    if (rows[1] <= rows[0]) continue;
    merged.set(rows[0], [...(merged.get(rows[0]) ?? []), { column: columns[0] - 1, lastRow: rows[1] }]);
  }
  return merged;
}
