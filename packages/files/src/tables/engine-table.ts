import { isOutOfMemory } from './engine-errors.js';
import { identifier } from './engine.js';
import type { JsonValue, TableEngine } from './engine.js';
import { showValue } from './result-forms.js';
import { COLUMNS_AT_ONCE, FREQUENT, isNamed, isNested, isNumber, isTime } from './table.js';
import type { Column, ColumnFigures, Table } from './table.js';

/** Rows up to which the different values of all columns are counted in one pass: more take too much memory. */
const ONE_PASS = 100_000;
/** Rows from which different values are estimated where they are many. */
const ESTIMATED = 1_000_000;
/** Different values up to which those of such a table are counted after all. */
const COUNTED = 10_000;

/** A table in the engine. */
export class EngineTable implements Table {
  readonly rows: number;
  readonly columns: Column[];
  readonly hasHeader: boolean | undefined;
  readonly text: Table['text'];
  readonly notes: string[];

  /** @param name its name in SQL, without quotes */
  constructor(
    private readonly engine: TableEngine,
    readonly name: string,
    { rows, columns, hasHeader, text, notes }: Omit<Table, 'first' | 'figures' | 'different'>,
  ) {
    this.rows = rows;
    this.columns = columns;
    this.hasHeader = hasHeader;
    this.text = text;
    this.notes = notes;
  }

  async first(rows: number, columns: number): Promise<JsonValue[][]> {
    const names = this.columns.slice(0, columns).map(({ name }) => identifier(name));
    return (await this.engine.select(`select ${names.join(', ')} from ${identifier(this.name)}`, rows)).rows;
  }

  async different(column: number, most: number): Promise<string[] | undefined> {
    const value = identifier(this.columns[column]!.name);
    const { rows, isCut } = await this.engine.select(
      `select distinct ${value} from ${identifier(this.name)} where ${value} is not null limit ${most + 1}`,
      most,
    );
    return isCut ? undefined : rows.map(([cell]) => showValue(cell!));
  }

  async figures(columns: number): Promise<ColumnFigures[]> {
    const shown = this.columns.slice(0, columns);
    const simple: JsonValue[] = [];
    for (let start = 0; start < shown.length; start += COLUMNS_AT_ONCE)
      simple.push(...(await this.#simpleFigures(shown.slice(start, start + COLUMNS_AT_ONCE))));
    const figures: ColumnFigures[] = [];
    for (const [index, column] of shown.entries()) {
      const [missing, estimate, min, max, mean] = simple.slice(index * 5, index * 5 + 5);
      const distinct = estimate === null ? undefined : await this.#distinct(column, Number(estimate));
      const isRepeated = distinct !== undefined && distinct.count < this.rows - Number(missing);
      figures.push({
        missing: Number(missing),
        distinct,
        min: min!,
        max: max!,
        mean: mean === null ? null : Number(mean),
        frequent: isRepeated && isNamed(column) ? await this.#frequent(column) : [],
      });
    }
    return figures;
  }

  /** Five figures of each column, which take one pass. */
  #simpleFigures(columns: Column[]): Promise<JsonValue[]> {
    const distinct = (column: string) =>
      this.rows > ONE_PASS ? `approx_count_distinct(${column})` : `count(distinct ${column})`;
    const figures = columns.flatMap((column) => {
      const value = identifier(column.name);
      const isOrdered = isNumber(column) || isTime(column);
      return [
        `count(*) - count(${value})`,
        isNested(column) ? 'null' : distinct(value),
        isOrdered ? `min(${value})` : 'null',
        isOrdered ? `max(${value})` : 'null',
        isNumber(column) ? `avg(${value})` : 'null',
      ];
    });
    return this.engine.row(`select ${figures.join(', ')} from ${identifier(this.name)}`);
  }

  /** Counts each column for itself where that takes too much memory for all at once. */
  async #distinct({ name }: Column, estimate: number): Promise<{ count: number; isExact: boolean }> {
    if (this.rows <= ONE_PASS) return { count: estimate, isExact: true };
    const estimated = { count: Math.min(estimate, this.rows), isExact: false };
    if (this.rows >= ESTIMATED && estimate > COUNTED) return estimated;
    try {
      // Of hashes, which take less memory. That two of a million values have the same one is less likely than 1 in 10,000,000.
      const value = identifier(name);
      const [count] = await this.engine.row(
        `select count(distinct hash(${value})) filter (${value} is not null) from ${identifier(this.name)}`,
      );
      return { count: Number(count), isExact: true };
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      return estimated;
    }
  }

  async #frequent({ name }: Column): Promise<[JsonValue, number][]> {
    const value = identifier(name);
    const { rows } = await this.engine.select(
      `select ${value}, count(*) from ${identifier(this.name)} where ${value} is not null ` +
        `group by all order by 2 desc, 1 limit ${FREQUENT}`,
      FREQUENT,
    );
    return rows.map(([cell, times]) => [cell!, Number(times)]);
  }
}
