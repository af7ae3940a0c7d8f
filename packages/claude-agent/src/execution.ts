import { settlesWithin } from 'nest-agent-query/agents';
import type { ClaudeBlock, ClaudeExecution, ClaudeMessage, ClaudePrompt } from './sdk.js';

/** Milliseconds that Claude Code has to write its conversation down after an interrupt: it takes a tenth of that. */
const INTERRUPT_MS = 2_000;

/** One execution of `query()`. */
export class Execution {
  readonly #iterator: AsyncIterator<ClaudeMessage>;
  readonly #running: ClaudeExecution;
  #next: Promise<IteratorResult<ClaudeMessage>> | undefined;
  #isOver = false;
  #closePrompt!: () => void;
  readonly #closed = new Promise<void>((resolve) => {
    this.#closePrompt = resolve;
  });

  /**
   * @param begin calls `query` with the prompt
   * @param blocks what the model is told; undefined: nothing, the call that waits is decided
   */
  constructor(
    begin: (prompt: AsyncIterable<ClaudePrompt>) => ClaudeExecution,
    blocks: ClaudeBlock[] | undefined,
    private readonly signal: AbortSignal,
  ) {
    this.#running = begin(this.#prompt(blocks));
    this.#iterator = this.#running[Symbol.asyncIterator]();
  }

  /** The messages, until `end` was called and nothing follows, or until the signal aborts. */
  async *messages(): AsyncGenerator<ClaudeMessage> {
    const { signal } = this;
    let stop: () => void = () => undefined;
    const stopped = new Promise<undefined>((resolve) => {
      stop = () => resolve(undefined);
    });
    signal.addEventListener('abort', stop, { once: true });
    try {
      while (!signal.aborted) {
        const next = await Promise.race([this.#read(), stopped]);
        if (!next) return;
        this.#next = undefined;
        if (next.done) {
          this.#isOver = true;
          return;
        }
        yield next.value;
      }
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Lets the program end: it takes a closed prompt for a refusal of each call that waits, so this is said after the result. */
  end(): void {
    this.#closePrompt();
  }

  /** Stops the turn, and lets the program end. Resolves when the turn is over, or does not end in time. */
  async stop(): Promise<void> {
    if (!this.#isOver) await settlesWithin(INTERRUPT_MS, this.#interrupt());
    this.end();
    // What an abandoned query still rejects with concerns nobody.
    this.#next?.catch(() => undefined);
  }

  async #interrupt(): Promise<void> {
    this.#running.interrupt().catch(() => undefined);
    try {
      for (let next = await this.#read(); !next.done; next = await this.#read()) {
        this.#next = undefined;
        if (next.value.type === 'result') this.end();
      }
    } catch {
      // It ends with an error.
    }
    this.#isOver = true;
  }

  #read(): Promise<IteratorResult<ClaudeMessage>> {
    return (this.#next ??= this.#iterator.next());
  }

  async *#prompt(blocks: ClaudeBlock[] | undefined): AsyncGenerator<ClaudePrompt> {
    if (blocks) yield { type: 'user', message: { role: 'user', content: blocks }, parent_tool_use_id: null };
    await this.#closed;
  }
}
