import { QueryError } from 'nest-agent-query';
import type { FilePart, Suggestion } from 'nest-agent-query';
import type { Queued } from './fair-queue.js';
import type { OpenedFile } from './parser-child.js';
import type { Question } from './parser-protocol.js';

/** Milliseconds for which pieces of an answer are gathered, so that the answer to an ordinary file is one text. */
const GATHERED_MS = 250;

/** Milliseconds without an answer after which a job says how far it has come, again and again. */
const PROGRESS_MS = 1000;

const INTERRUPTED = 'The files were not read to their end: the service was stopping. Send the query again.';

/** A part of what a job says: a text of the answer, or how many bytes of its files have been read. */
export type JobStep = { text: string; isLast: boolean } | { read: number };

/** What a complete answer has besides its text. */
interface Complete {
  suggestions?: Suggestion[] | undefined;
  file?: OpenedFile | undefined;
}

/** One question about files, and the answer as far as it is known. */
export class ParserJob implements Queued {
  /** Whether it has had its first turn and must take another, because files that take long gave way to others. */
  isPostponed = false;
  /** Bytes of all files. */
  readonly size: number;
  #isWaiting = true;
  #isEnded = false;
  #isCancelled = false;
  #isInterrupted = false;
  #complete: Complete | undefined;
  /** What has not been taken yet. */
  #text = '';
  #length = 0;
  /** Characters that are known from an earlier turn. */
  #known = 0;
  #read = 0;
  #change!: Promise<void>;
  #announce!: () => void;

  /** @param onCancel called once, if the answer is not wanted any more before it is complete */
  constructor(
    readonly owner: string,
    readonly runId: string,
    readonly question: Question,
    readonly files: FilePart[],
    private readonly onCancel: (job: ParserJob) => void,
  ) {
    this.size = files.reduce((sum, { file }) => sum + file.size, 0);
    this.#renew();
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether anything of the answer is known. */
  get hasText(): boolean {
    return this.#length > 0;
  }

  /** It is the turn of the question. What is said again of an earlier turn is left out. */
  begin(): void {
    this.#isWaiting = false;
    this.#known = Math.max(this.#known, this.#length);
    this.#length = 0;
    this.#changed();
  }

  add(piece: string): void {
    if (this.#isEnded) return;
    this.#text += piece.slice(Math.max(0, this.#known - this.#length));
    this.#length += piece.length;
    this.#changed();
  }

  /** Bytes of its files were fetched. What is fetched a second time does not count. */
  fetched(bytes: number): void {
    this.#read = Math.min(this.size, this.#read + bytes);
  }

  /** @param complete what the answer has besides its text, if it is complete */
  end(complete?: Complete): void {
    if (this.#isEnded) return void complete?.file?.content.close();
    this.#isEnded = true;
    this.#complete = complete;
    this.#changed();
  }

  /** Somebody has stopped the process: the answer ends with an exception. */
  interrupt(): void {
    this.#isInterrupted = !this.#isEnded;
    this.end();
  }

  /** What the answer has besides its text; undefined if it is not complete. */
  get complete(): Complete | undefined {
    return this.#complete;
  }

  /** Cancels the job, or closes the file of its answer. */
  close(): void {
    this.cancel();
    void this.#complete?.file?.content.close();
  }

  /** Does nothing after the end. */
  cancel(): void {
    if (this.#isEnded) return;
    this.#isCancelled = true;
    this.end();
    this.onCancel(this);
  }

  /** Whether the question still waits for its first turn after so many milliseconds. */
  async waits(milliseconds: number): Promise<boolean> {
    return !(await this.#isWithin(milliseconds, () => !this.#isWaiting || this.#isEnded));
  }

  /**
   * The answer, in as many texts as it takes time, and how far the reading has come where that takes long. The last text, which
   * may be empty, says so. Ends without a last one, and without an exception, when the job is cancelled.
   *
   * @throws {QueryError} `interrupted`: the process was stopped, as all processes of a service that ends are
   */
  async *steps(): AsyncGenerator<JobStep> {
    let told = 0;
    for (let isLast = false; !isLast;) {
      while (!(await this.#isWithin(PROGRESS_MS, () => this.#text !== '' || this.#isEnded))) {
        if (this.#read === told) continue;
        told = this.#read;
        yield { read: told };
      }
      await this.#isWithin(GATHERED_MS, () => this.#isEnded);
      if (this.#isCancelled) return;
      if (this.#isInterrupted) throw new QueryError('interrupted', INTERRUPTED);
      const text = this.#text;
      this.#text = '';
      isLast = this.#isEnded;
      yield { text, isLast };
    }
  }

  /** Waits until something is so, and so many milliseconds at most. @returns whether it is */
  async #isWithin(milliseconds: number, isSo: () => boolean): Promise<boolean> {
    const deadline = Date.now() + milliseconds;
    while (!isSo() && Date.now() < deadline) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, deadline - Date.now())));
      await Promise.race([this.#change, late]);
      clearTimeout(timer);
    }
    return isSo();
  }

  #changed(): void {
    this.#announce();
    this.#renew();
  }

  #renew(): void {
    this.#change = new Promise((resolve) => (this.#announce = resolve));
  }
}
