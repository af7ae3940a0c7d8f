/** What an audience knows of a follower. */
interface Reader {
  /** How far it has read, in characters of JSON since the beginning of the log. */
  readonly position: number;
  /** Has it read on, if it can take more. */
  ring(): void;
  /** Cuts its stream in a way that can be resumed. */
  cut(): void;
}

/**
 * So many audiences wait for the end of the turn at most; the next one does when these have been served. What a processor
 * has at hand of a run while its handler emits, it would have to fetch again after thousands of others.
 */
const MOST_DUE = 64;

/** Audiences whose log has news in this turn of the event loop. */
let due: Audience[] = [];

function serve(): void {
  const audiences = due;
  due = [];
  for (const audience of audiences) audience.serve();
}

/**
 * The followers of one run that is alive in this process.
 *
 * What becomes visible in a log during one turn of the event loop leaves together: `ring` marks the audience, and one
 * `setImmediate` serves all audiences of the turn.
 */
export class Audience {
  /** In the order in which they came. */
  readonly #readers: Reader[] = [];
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

  join(reader: Reader): void {
    if (this.#readers.push(reader) === 1) this.onFirst();
  }

  leave(reader: Reader): void {
    const index = this.#readers.indexOf(reader);
    if (index === -1) return;
    this.#readers.splice(index, 1);
    this.progressed();
    if (this.#readers.length === 0) this.onEmpty();
  }

  /** There is news in the log. */
  ring(): void {
    if (this.#isDue || this.#readers.length === 0) return;
    if (due.length === MOST_DUE) serve();
    this.#isDue = true;
    if (due.push(this) === 1) setImmediate(serve);
  }

  /** Lets every follower read what is new. */
  serve(): void {
    this.#isDue = false;
    // From the last on, because one that has read all of it leaves.
    for (let index = this.#readers.length - 1; index >= 0; index--) this.#readers[index]?.ring();
    this.progressed();
  }

  /** How far the fastest follower is behind a position in the log; 0 where nobody follows. */
  behind(position: number): number {
    if (this.#readers.length === 0) return 0;
    let fastest = 0;
    for (const reader of this.#readers) fastest = Math.max(fastest, reader.position);
    return position - fastest;
  }

  /** Resolves when a follower has read on or has left. */
  progress(): Promise<void> {
    return new Promise((resolve) => (this.#onProgress = resolve));
  }

  /** A follower has read on. */
  progressed(): void {
    this.#onProgress?.();
    this.#onProgress = undefined;
  }

  /** Cuts every stream that has not ended. */
  cut(): void {
    for (const reader of [...this.#readers]) reader.cut();
  }
}
