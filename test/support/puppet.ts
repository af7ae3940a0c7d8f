import type { Envelope, HandlerFunction, Query, QueryContext } from '../../src/index.js';

/** One call of a puppet's handler: the test says what it emits and how it ends. */
export class Call {
  /** Resolves when the handler has really stopped. */
  readonly stopped: Promise<void>;
  #resolveStopped!: () => void;
  readonly #steps: (() => Envelope | undefined)[] = [];
  #onStep: (() => void) | undefined;

  constructor(
    readonly query: Query,
    readonly context: QueryContext,
  ) {
    this.stopped = new Promise((resolve) => (this.#resolveStopped = resolve));
  }

  emit(...envelopes: Envelope[]): void {
    for (const envelope of envelopes) this.#step(() => envelope);
  }

  finish(): void {
    this.#step(() => undefined);
  }

  fail(error: unknown): void {
    this.#step(() => {
      throw error;
    });
  }

  /** The text of the query's first part. */
  get text(): string {
    const [part] = this.query.parts;
    return part?.type === 'text' ? part.text : '';
  }

  /** @param isDeaf whether the handler pays no attention to its signal */
  async *answer(isDeaf: boolean): AsyncGenerator<Envelope> {
    const { signal } = this.context;
    if (!isDeaf) signal.addEventListener('abort', () => this.#onStep?.());
    try {
      while (isDeaf || !signal.aborted) {
        const step = this.#steps.shift();
        if (!step) {
          await new Promise<void>((resolve) => (this.#onStep = resolve));
          continue;
        }
        const envelope = step();
        if (!envelope) return;
        yield envelope;
      }
    } finally {
      this.#resolveStopped();
    }
  }

  #step(step: () => Envelope | undefined): void {
    this.#steps.push(step);
    this.#onStep?.();
  }
}

/** An agent whose strings the test holds. */
export class Puppet {
  readonly calls: Call[] = [];
  readonly #waiting = new Set<() => void>();

  /** @param isDeaf whether the handler pays no attention to its signal */
  constructor(private readonly isDeaf = false) {}

  readonly handler: HandlerFunction = (query, context) => {
    const call = new Call(query, context);
    this.calls.push(call);
    for (const look of this.#waiting) look();
    return call.answer(this.isDeaf);
  };

  /** Resolves with the call of this number, counted from 1, when it has been made. */
  call(count: number): Promise<Call> {
    return this.#wait(() => this.calls[count - 1]);
  }

  /** Resolves with the call for the query that begins with this text, when it has been made. */
  callFor(text: string): Promise<Call> {
    return this.#wait(() => this.calls.find((call) => call.text === text));
  }

  #wait(find: () => Call | undefined): Promise<Call> {
    return new Promise((resolve) => {
      const look = () => {
        const call = find();
        if (!call) return;
        this.#waiting.delete(look);
        resolve(call);
      };
      this.#waiting.add(look);
      look();
    });
  }
}
