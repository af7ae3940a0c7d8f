/** What an audience knows of a follower. */
interface Member {
  /** How far it has read, in characters of JSON since the beginning of the log. */
  readonly offset: number;
  /** Has it read on, if it can take more. */
  notify(): void;
  /** Cuts its stream in a way that can be resumed. */
  disconnect(): void;
}

/**
 * So many audiences wait for the end of the turn at most; the next one does when these have been served. What a processor
 * has at hand of a run while its handler emits, it would have to fetch again after thousands of others.
 */
const MOST_DUE = 64;

/** Audiences whose log has news in this turn of the event loop. */
let due: Followers[] = [];

function serve(): void {
  const audiences = due;
  due = [];
  for (const audience of audiences) audience.flush();
}

/**
 * The followers of one run that is alive in this process.
 *
 * What becomes visible in a log during one turn of the event loop leaves together: `ring` marks the audience, and one
 * `setImmediate` serves all audiences of the turn.
 */
export class Followers {
  /** In the order in which they came. */
  readonly #readers: Member[] = [];
  #onProgress: (() => void) | undefined;
  #isDue = false;

  /**
   * @param onFirst called when the first follower has come
   * @param onEmpty called when the last one has left
   */
  constructor(
    private readonly onFirst: () => void,
    private readonly onEmpty: () => void,
  ) {}

  get size(): number {
    return this.#readers.length;
  }

  join(reader: Member): void {
    if (this.#readers.push(reader) === 1) this.onFirst();
  }

  leave(reader: Member): void {
    const index = this.#readers.indexOf(reader);
    if (index === -1) return;
    this.#readers.splice(index, 1);
    this.advanced();
    if (this.#readers.length === 0) this.onEmpty();
  }

  /** There is news in the log. */
  notify(): void {
    if (this.#isDue || this.#readers.length === 0) return;
    if (due.length === MOST_DUE) serve();
    this.#isDue = true;
    if (due.push(this) === 1) setImmediate(serve);
  }

  /** Lets every follower read what is new. */
  flush(): void {
    this.#isDue = false;
    // From the last on, because one that has read all of it leaves.
    for (let index = this.#readers.length - 1; index >= 0; index--) this.#readers[index]?.notify();
    this.advanced();
  }

  /** How far the fastest follower is behind a position in the log; 0 where nobody follows. */
  lag(position: number): number {
    if (this.#readers.length === 0) return 0;
    let fastest = 0;
    for (const reader of this.#readers) fastest = Math.max(fastest, reader.offset);
    return position - fastest;
  }

  /** Resolves when a follower has read on or has left. */
  nextAdvance(): Promise<void> {
    return new Promise((resolve) => (this.#onProgress = resolve));
  }

  /** A follower has read on. */
  advanced(): void {
    this.#onProgress?.();
    this.#onProgress = undefined;
  }

  /** Cuts every stream that has not ended. */
  disconnectAll(): void {
    for (const reader of [...this.#readers]) reader.disconnect();
  }
}
