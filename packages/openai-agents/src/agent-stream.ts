import type { AgentInputItem, RunState, RunStreamEvent, StreamedRunResult } from '@openai/agents';
import type { Envelope } from 'nest-agent-query';
import type { AnyAgent } from './framework.js';

export type State = RunState<unknown, AnyAgent>;
export type AgentInput = AgentInputItem[] | State;

type Result = StreamedRunResult<unknown, AnyAgent>;

/** Starts the framework with what it waits for before each call of a model, and with the signal that stops it. */
type Start = (hooks: { beforeModel: () => Promise<void>; signal: AbortSignal }) => Promise<Result>;

/** Makes none, one or several envelopes of an event. */
type Take = (event: RunStreamEvent) => Envelope | Envelope[] | undefined;

/**
 * What the framework does from its start until it has an output, or needs an approval.
 *
 * The framework does not wait for those who read its events, and an error discards those that nobody has read. So they are read at
 * once, and only their envelopes are kept. Between two steps the framework is held back.
 */
export class AgentStream {
  readonly #stopping = new AbortController();
  readonly #stop = () => this.#stopping.abort();
  #result: Result | undefined;
  #envelopes: Envelope[] = [];
  #isOver = false;
  #error: unknown;
  #hasBegun = false;
  #isReleased = false;
  /** Lets the framework begin its next step; undefined unless it waits for that. */
  #pass: (() => void) | undefined;
  /** Tells the reader that something has happened. */
  #wake: () => void = () => undefined;

  constructor(private readonly signal: AbortSignal) {}

  get hasStarted(): boolean {
    return this.#result !== undefined;
  }

  get result(): Result {
    return this.#result!;
  }

  async start(start: Start, take: Take): Promise<void> {
    this.signal.addEventListener('abort', this.#stop, { once: true });
    if (this.signal.aborted) this.#stop();
    this.#result = await start({ beforeModel: this.#beforeModel, signal: this.#stopping.signal });
    void this.#read(this.#result, take);
  }

  /**
   * The envelopes that were not given out yet, at least one.
   *
   * @param stepEnded called when a step has ended and all its envelopes are given out; the next step begins after it
   * @returns undefined at the end
   */
  async next(stepEnded: () => Promise<void>): Promise<Envelope[] | undefined> {
    for (;;) {
      if (this.#envelopes.length > 0) {
        const envelopes = this.#envelopes;
        this.#envelopes = [];
        return envelopes;
      }
      if (this.#isOver) break;
      if (!this.#pass) await new Promise<void>((resolve) => (this.#wake = resolve));
      else if (await this.#isRead()) {
        await stepEnded();
        this.#release();
      }
    }
    if (this.#error !== undefined) throw this.#error as Error;
    return undefined;
  }

  /** Stops what still executes, and waits for it. */
  async end(): Promise<void> {
    this.signal.removeEventListener('abort', this.#stop);
    this.#stop();
    this.#isReleased = true;
    this.#release();
    await this.#result?.completed.catch(() => undefined);
  }

  async #read(result: Result, take: Take): Promise<void> {
    try {
      for await (const event of result) {
        const envelopes = take(event);
        if (envelopes === undefined) continue;
        if (Array.isArray(envelopes)) this.#envelopes.push(...envelopes);
        else this.#envelopes.push(envelopes);
        this.#wake();
      }
    } catch (error) {
      this.#error = error;
    }
    this.#isOver = true;
    this.#wake();
  }

  /** The first call of a model does not wait. */
  readonly #beforeModel = async (): Promise<void> => {
    const isFirst = !this.#hasBegun;
    this.#hasBegun = true;
    if (isFirst || this.#isReleased) return;
    await new Promise<void>((resolve) => {
      this.#pass = resolve;
      this.#wake();
    });
  };

  #release(): void {
    this.#pass?.();
    this.#pass = undefined;
  }

  /** While the framework waits, what it has emitted before is read within this tick. */
  async #isRead(): Promise<boolean> {
    await new Promise((resolve) => setImmediate(resolve));
    return this.#envelopes.length === 0 && !this.#isOver;
  }
}
