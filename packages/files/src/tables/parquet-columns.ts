import { code, count } from '../markdown.js';
import { UnreadableFile } from '../unreadable-file.js';
import { identifier, literal } from './engine.js';
import type { TableEngine } from './engine.js';

/** Digits of a decimal that the engine reads. What has more it takes for a number, which may be another one. */
const MOST_DIGITS = 38;

/** A column or a member of one, as the schema of the file lists them: each before its members. */
interface Element {
  name: string;
  members: number;
  digits: number;
}

/**
 * The expression that reads a Parquet file, without the columns whose decimals have too many digits.
 *
 * @returns the expression, and sentences about what is left out
 * @throws {UnreadableFile} nothing is left
 */
export async function readableColumns(
  engine: TableEngine,
  path: string,
): Promise<{ columns: string; notes: string[] }> {
  const { rows } = await engine.select(
    `select name, coalesce(num_children, 0), coalesce(precision, 0) from parquet_schema(${literal(path)})`,
    Infinity,
  );
  const elements = rows.map(([name, members, digits]): Element => {
    return { name: name as string, members: Number(members), digits: Number(digits) };
  });
  const columns = columnsOf(elements);
  const wide = columns.filter(({ digits }) => digits > MOST_DIGITS);
  if (wide.length === 0) return { columns: '*', notes: [] };
  const names = wide.map(({ name }) => code(name)).join(', ');
  const note =
    `${count(wide.length, 'column')} with decimals of more than ${MOST_DIGITS} digits ` +
    `${wide.length === 1 ? 'is' : 'are'} not read: ${names}.`;
  if (wide.length === columns.length) throw new UnreadableFile(note);
  return { columns: `* exclude (${wide.map(({ name }) => identifier(name)).join(', ')})`, notes: [note] };
}

/** The columns, each with the most digits that it or one of its members has. */
function columnsOf([root, ...elements]: Element[]): Element[] {
  const columns: Element[] = [];
  let at = 0;
  for (let left = root?.members ?? 0; left > 0; left -= 1) {
    const column = { ...elements[at]! };
    for (let open = 1; open > 0 && at < elements.length; open -= 1) {
      const { members, digits } = elements[at]!;
      column.digits = Math.max(column.digits, digits);
      open += members;
      at += 1;
    }
    columns.push(column);
  }
  return columns;
}
