/** How long after its loss an answer is found, in milliseconds. A client waits for at most a minute before it asks again. */
const KEPT_MS = 60_000;

/** How many are kept: the oldest gives way. */
const MOST_KEPT = 1_000;

/** Runs whose answers have not reached their callers, by the digest of the request. Each is found once. */
export class LostAnswers {
  /** Those that were lost last are at the end. */
  #lost: { digest: string; runId: string; at: number }[] = [];

  add(digest: string, runId: string): void {
    const valid = this.#valid();
    this.#lost = [...valid.slice(1 - MOST_KEPT), { digest, runId, at: Date.now() }];
  }

  /** Takes the run whose answer was lost last; undefined if there is none. */
  take(digest: string): string | undefined {
    this.#lost = this.#valid();
    const index = this.#lost.findLastIndex((lost) => lost.digest === digest);
    return index === -1 ? undefined : this.#lost.splice(index, 1)[0]!.runId;
  }

  #valid() {
    const now = Date.now();
    return this.#lost.filter(({ at }) => now - at < KEPT_MS);
  }
}
