/** Whose turn it is: owners take turns, and so do the runs of one owner. */
export interface Turn {
  owner: string;
  runId: string;
}

/** A queue that gives turns to owners, and within an owner to runs. What one run adds keeps its order. */
export class FairQueue<T extends Turn> {
  readonly #owners = new Map<string, Map<string, T[]>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(item: T): void {
    const runs = this.#owners.get(item.owner) ?? new Map<string, T[]>();
    this.#owners.set(item.owner, runs);
    const items = runs.get(item.runId) ?? [];
    runs.set(item.runId, items);
    items.push(item);
    this.#size += 1;
  }

  /** Takes the next item; its run and its owner have their next turn after all others. */
  take(): T | undefined {
    for (const [owner, runs] of this.#owners) {
      for (const [runId, items] of runs) {
        const item = items.shift();
        this.#size -= 1;
        runs.delete(runId);
        if (items.length > 0) runs.set(runId, items);
        this.#owners.delete(owner);
        if (runs.size > 0) this.#owners.set(owner, runs);
        return item;
      }
    }
    return undefined;
  }

  /** Removes an item, if it is in the queue. */
  remove(item: T): void {
    const runs = this.#owners.get(item.owner);
    const items = runs?.get(item.runId);
    const index = items?.indexOf(item) ?? -1;
    if (!runs || !items || index < 0) return;
    items.splice(index, 1);
    this.#size -= 1;
    if (items.length === 0) runs.delete(item.runId);
    if (runs.size === 0) this.#owners.delete(item.owner);
  }
}
