/** Durations in milliseconds, by what was measured. */
export class Figures {
  readonly #durations = new Map<string, number[]>();

  note(what: string, durationMs: number): void {
    const durations = this.#durations.get(what) ?? [];
    durations.push(durationMs);
    this.#durations.set(what, durations);
  }

  /** A line for each measure: how many there are, the median, and the longest. */
  get lines(): string[] {
    return [...this.#durations].map(([what, durations]) => {
      const sorted = durations.toSorted((one, other) => one - other);
      const median = sorted[Math.floor(sorted.length / 2)]!;
      return `${what}: ${sorted.length} times, median ${median.toFixed(0)} ms, longest ${sorted.at(-1)!.toFixed(0)} ms`;
    });
  }
}
