import type { Envelope, HandlerFunction, Query, QueryContext } from '../../src/index.js';

/** One call of the handler of a `ScriptedAgent`. */
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

  /** @param ignoresSignal whether the handler ignores its signal */
  async *answer(ignoresSignal: boolean): AsyncGenerator<Envelope> {
    const { signal } = this.context;
    if (!ignoresSignal) signal.addEventListener('abort', () => this.#onStep?.());
    try {
      while (ignoresSignal || !signal.aborted) {
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

/** An agent of which the test decides what each call emits and how it ends. */
export class ScriptedAgent {
  readonly calls: Call[] = [];
  readonly #waiting = new Set<() => void>();

  /** @param ignoresSignal whether the handler ignores its signal */
  constructor(private readonly ignoresSignal = false) {}

  readonly handler: HandlerFunction = (query, context) => {
    const call = new Call(query, context);
    this.calls.push(call);
    for (const check of this.#waiting) check();
    return call.answer(this.ignoresSignal);
  };

  /** Resolves with the call of this number, counted from 1, as soon as it is made. */
  call(count: number): Promise<Call> {
    return this.#wait(() => this.calls[count - 1]);
  }

  /** Resolves with the call for the query whose first part is this text, as soon as it is made. */
  callFor(text: string): Promise<Call> {
    return this.#wait(() => this.calls.find((call) => call.text === text));
  }

  #wait(find: () => Call | undefined): Promise<Call> {
    return new Promise((resolve) => {
      const check = () => {
        const call = find();
        if (!call) return;
        this.#waiting.delete(check);
        resolve(call);
      };
      this.#waiting.add(check);
      check();
    });
  }
}
