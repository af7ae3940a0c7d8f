import { StepGate } from 'nest-agent-query-adapters';
import type { MastraChunk } from './chunk-envelopes.js';
import type { MastraStream } from './mastra-options.js';

/** Makes a stream of the framework, with the signal that stops it and what it waits for before each step. */
type Begin = (hooks: { signal: AbortSignal; beforeStep: () => Promise<void> }) => Promise<MastraStream>;

/** One stream of the framework, held back between its steps. */
export class Execution {
  readonly #gate = new StepGate();
  readonly #stopping = new AbortController();
  #chunks!: AsyncIterator<MastraChunk>;
  /** Names the execution in the storage of the framework. */
  runId = '';

  /** @param resumes whether it begins within a step */
  async begin(signal: AbortSignal, begin: Begin, resumes = false): Promise<this> {
    // The first step that begins here is the second one of the execution.
    if (resumes) await this.#gate.pass();
    const { runId, fullStream } = await begin({
      signal: AbortSignal.any([signal, this.#stopping.signal]),
      beforeStep: () => this.#gate.pass(),
    });
    this.runId = runId;
    this.#chunks = fullStream[Symbol.asyncIterator]();
    return this;
  }

  next(): Promise<IteratorResult<MastraChunk>> {
    return this.#chunks.next();
  }

  /**
   * The next chunk, after the end of a step.
   *
   * @param stepEnded called before it, if the framework is about to begin another step. Returns whether it may
   * @returns undefined if it may not
   */
  async nextOrStep(stepEnded: () => Promise<boolean>): Promise<IteratorResult<MastraChunk> | undefined> {
    const next = this.#chunks.next();
    if (!(await this.#gate.isReachedBefore(next))) return next;
    if (await stepEnded()) {
      this.#gate.release();
      return next;
    }
    next.catch(() => undefined);
    this.stop();
    return undefined;
  }

  /** Stops what still executes. */
  stop(): void {
    this.#stopping.abort();
    this.#gate.open();
  }
}
