import { OwnerTurns } from './owner-turns.js';

/** Whose turn it is. */
export interface Turn {
  owner: string;
  runId: string;
}

/** An item of the queue. `size` is how many bytes it reads: what it costs is not known before. */
export interface Queued extends Turn {
  size: number;
}

/** Bytes that the turn of any item counts at least, besides its own. */
const TURN = 64 * 1024;

/** The items of one run in their order, each with the progress at which it would have ended. */
type Line<T> = { item: T; end: number }[];

interface OwnerLines<T> {
  lines: Map<string, Line<T>>;
  /** Bytes that each run of the owner has had, had all got an equal share since they came. */
  progress: number;
}

/**
 * A queue that gives turns to owners and, within an owner, equal shares of bytes to runs (weighted fair queueing). So a run
 * of small files does not wait for the large ones of many other runs, and a large one waits for a bounded number of small
 * ones. What one run adds keeps its order.
 */
export class FairQueue<T extends Queued> {
  readonly #owners = new Map<string, OwnerLines<T>>();
  #size = 0;

  /** @param turns of the owners. The items of the queue join it, and leave it if they are removed */
  constructor(private readonly turns = new OwnerTurns()) {}

  /** The owners of the items in the queue. */
  get owners(): string[] {
    return [...this.#owners.keys()];
  }

  get size(): number {
    return this.#size;
  }

  add(item: T): void {
    const owner = this.#owners.get(item.owner) ?? { lines: new Map<string, Line<T>>(), progress: 0 };
    this.#owners.set(item.owner, owner);
    const line = owner.lines.get(item.runId) ?? [];
    owner.lines.set(item.runId, line);
    const begin = line.at(-1)?.end ?? owner.progress;
    line.push({ item, end: begin + costOf(item) });
    this.#size += 1;
    this.turns.join(item.owner);
  }

  /** Takes the next item. */
  take(): T | undefined {
    const name = this.turns.first(this.#owners.keys());
    if (name === undefined) return undefined;
    this.turns.take(name);
    const owner = this.#owners.get(name)!;
    const [runId, line] = [...owner.lines].reduce((first, each) =>
      each[1][0]!.end < first[1][0]!.end ? each : first,
    );
    const { item } = line.shift()!;
    this.#size -= 1;
    owner.progress += costOf(item) / owner.lines.size;
    if (line.length === 0) owner.lines.delete(runId);
    if (owner.lines.size === 0) this.#owners.delete(name);
    return item;
  }

  /** Removes an item, if it is in the queue. */
  remove(item: T): void {
    const owner = this.#owners.get(item.owner);
    const line = owner?.lines.get(item.runId);
    const index = line?.findIndex((each) => each.item === item) ?? -1;
    if (!owner || !line || index < 0) return;
    line.splice(index, 1);
    this.#size -= 1;
    this.turns.leave(item.owner);
    if (line.length === 0) owner.lines.delete(item.runId);
    if (owner.lines.size === 0) this.#owners.delete(item.owner);
  }
}

function costOf({ size }: Queued): number {
  return TURN + size;
}
