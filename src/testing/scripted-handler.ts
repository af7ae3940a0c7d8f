import { AgentHandler, type Envelope, type Query, type QueryContext } from '../query/index.js';

/** How a `ScriptedHandler` behaves. */
export interface ScriptOptions {
  /** Whether it goes on when its signal is aborted, as a handler does that does not watch it. Default false. */
  ignoresSignal?: boolean;
}

/**
 * One call of a `ScriptedHandler`: what it was given, and what the test lets it do.
 *
 * @example
 * const call = await handler.call(1);
 * call.emit(message('Hello'));
 * call.finish();
 * await call.stopped;
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export class ScriptedCall<K extends object = any> {
  /** Resolves when the answer is read for the first time. */
  readonly started: Promise<void>;
  /** Resolves when the handler has really stopped. */
  readonly stopped: Promise<void>;
  #resolveStarted!: () => void;
  #resolveStopped!: () => void;
  readonly #steps: (() => Envelope | undefined)[] = [];
  #onStep: (() => void) | undefined;

  constructor(
    readonly query: Query<K>,
    readonly context: QueryContext,
  ) {
    this.started = new Promise((resolve) => (this.#resolveStarted = resolve));
    this.stopped = new Promise((resolve) => (this.#resolveStopped = resolve));
  }

  /** Lets the handler emit envelopes. */
  emit(...envelopes: Envelope[]): void {
    for (const envelope of envelopes) this.#step(() => envelope);
  }

  /** Lets the handler finish. */
  finish(): void {
    this.#step(() => undefined);
  }

  /** Lets the handler throw. */
  fail(error: unknown): void {
    this.#step(() => {
      throw error;
    });
  }

  /** The first text of the query; empty if it has none. */
  get text(): string {
    return this.query.parts.find((part) => part.type === 'text')?.text ?? '';
  }

  /** The answer, step by step as the test permits it. */
  async *answer({ ignoresSignal = false }: ScriptOptions = {}): AsyncGenerator<Envelope> {
    this.#resolveStarted();
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

/**
 * A handler that does what a test says. With a script it answers each query with these envelopes. Without one it waits in each
 * call until the test lets it emit, finish or fail. `K` is the class of the option `kwargs`.
 *
 * @example
 * const handler = new ScriptedHandler([message('Hello')]);
 *
 * @example
 * const handler = new ScriptedHandler();
 * const asking = ask(app, 'Hello');
 * const call = await handler.call(1);
 * expect(call.query.kwargs).toEqual({});
 * call.emit(message('Hi'));
 * call.finish();
 * expect((await asking).text).toBe('Hi');
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export class ScriptedHandler<K extends object = any> extends AgentHandler<K> {
  /** The calls so far, in their order. */
  readonly calls: ScriptedCall<K>[] = [];
  readonly #waiting = new Set<() => void>();

  /** @param script what each call emits before it finishes. Default: each call waits for the test */
  constructor(
    private readonly script?: Envelope[],
    private readonly options: ScriptOptions = {},
  ) {
    super();
  }

  override handle(query: Query<K>, context: QueryContext): AsyncGenerator<Envelope> {
    const call = new ScriptedCall<K>(query, context);
    this.calls.push(call);
    if (this.script) {
      call.emit(...this.script);
      call.finish();
    }
    for (const check of this.#waiting) check();
    return call.answer(this.options);
  }

  /** Resolves with the call of this number, counted from 1, as soon as its answer is read. */
  call(count: number): Promise<ScriptedCall<K>> {
    return this.#wait(() => this.calls[count - 1]);
  }

  /** Resolves with the call for the query whose first text is this one, as soon as its answer is read. */
  callFor(text: string): Promise<ScriptedCall<K>> {
    return this.#wait(() => this.calls.find((call) => call.text === text));
  }

  #wait(find: () => ScriptedCall<K> | undefined): Promise<ScriptedCall<K>> {
    return new Promise((resolve) => {
      const check = () => {
        const call = find();
        if (!call) return;
        this.#waiting.delete(check);
        resolve(call.started.then(() => call));
      };
      this.#waiting.add(check);
      check();
    });
  }
}
