import type { AgentInputItem, RunState, RunStreamEvent, StreamedRunResult } from '@openai/agents';
import type { Envelope } from 'nest-agent-query';
import { StepGate } from 'nest-agent-query-adapters';
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
  readonly #gate = new StepGate();
  #result: Result | undefined;
  #envelopes: Envelope[] = [];
  #isOver = false;
  #error: unknown;
  /** Tells the reader that something has happened. */
  #wake: () => void = () => undefined;

  constructor(private readonly signal: AbortSignal) {}

  get hasStarted(): boolean {
    return this.#result !== undefined;
  }

  get result(): Result {
    return this.#result!;
  }

  /** @param resumes whether it begins within a step. Then the first call of a model waits too */
  async start(start: Start, take: Take, resumes: boolean): Promise<void> {
    if (resumes) await this.#gate.pass();
    const signal = AbortSignal.any([this.signal, this.#stopping.signal]);
    this.#result = await start({ beforeModel: () => this.#gate.pass(), signal });
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
      if (await this.#gate.isReachedBefore(new Promise<void>((resolve) => (this.#wake = resolve)))) {
        await stepEnded();
        this.#gate.release();
      }
    }
    if (this.#error !== undefined) throw this.#error as Error;
    return undefined;
  }

  /** Stops what still executes, and waits for it. */
  async end(): Promise<void> {
    this.#stopping.abort();
    this.#gate.open();
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
}
