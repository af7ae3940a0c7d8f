import { identifier } from './engine.js';
import type { JsonValue, TableEngine } from './engine.js';
import { FREQUENT, isNamed, isNested, isNumber, isTime } from './table.js';
import type { Column, ColumnFigures, Table } from './table.js';

/** Rows above which different values are estimated: to count them all takes memory. */
const EXACT = 100_000;
/** Different values up to which those of a large table are counted after all. */
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
    { rows, columns, hasHeader, text, notes }: Omit<Table, 'first' | 'figures'>,
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

  async figures(columns: number): Promise<ColumnFigures[]> {
    const shown = this.columns.slice(0, columns);
    const simple = await this.#simpleFigures(shown);
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
      this.rows > EXACT ? `approx_count_distinct(${column})` : `count(distinct ${column})`;
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

  /** In a large table few different values are counted, and many are estimated. */
  async #distinct({ name }: Column, estimate: number): Promise<{ count: number; isExact: boolean }> {
    if (this.rows <= EXACT) return { count: estimate, isExact: true };
    if (estimate > COUNTED) return { count: Math.min(estimate, this.rows), isExact: false };
    const [count] = await this.engine.row(
      `select count(distinct ${identifier(name)}) from ${identifier(this.name)}`,
    );
    return { count: Number(count), isExact: true };
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
