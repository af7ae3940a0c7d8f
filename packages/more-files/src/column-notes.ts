/** Characters of a name that a sentence shows. */
const SHOWN = 60;

/** A name from a file, as code in a sentence. */
export function quoted(name: string): string {
  const line = name.replace(/[`\p{Cc}]/gu, ' ');
  return `\`${line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line}\``;
}

/** Columns that have a sentence of their own; those after them have none. */
const MOST = 20;

/** What columns are, of those that have a label. */
export function labelNotes(columns: { name: string; label: string }[]): string[] {
  const labelled = columns.filter(({ name, label }) => label !== '' && label !== name);
  return labelled.slice(0, MOST).map(({ name, label }) => `${quoted(name)} is ${quoted(label)}.`);
}

/** Counts what a reader changed or left out in the cells of a table. */
export class ColumnNotes {
  readonly #counts = new Map<string, { column: string; what: string; cells: number }>();

  /** @param what is said about the values, such as `no number, read as missing` */
  add(column: string, what: string): void {
    const key = `${what}\0${column}`;
    const known = this.#counts.get(key);
    if (known) known.cells += 1;
    else if (this.#counts.size < MOST) this.#counts.set(key, { column, what, cells: 1 });
  }

  sentences(): string[] {
    return [...this.#counts.values()].map(({ column, what, cells }) =>
      cells === 1
        ? `One value of ${quoted(column)} is ${what}.`
        : `${cells} values of ${quoted(column)} are ${what}.`,
    );
  }
}
