import type { Envelope, TurnAnswer, UsageEnvelope } from 'nest-agent-query-client';
import { envelopeText, invalidEnvelope } from '../../contract/envelope-text.js';
import { QueryError } from '../../contract/errors.js';
import { KEPT_LENGTH, type RunRecord } from '../../ports/run-store.js';
import type { Used } from '../../ports/usage-store.js';
import { OrderedValues, isFile, MAX_UNSTORED_LENGTH, tooFast } from '../ordered-values.js';
import { KeptAnswer } from '../../contract/kept-answer.js';
import type { LiveRun, RunnerServices } from '../runner-services.js';
import type { TimeLimit } from './time-limit.js';

/** An async iterable is pulled without a pause until it has emitted so many characters of JSON. */
const BURST_LENGTH = KEPT_LENGTH / 2;

/** An async iterable is not pulled while its fastest follower is so many characters of JSON behind. */
const LAG_LENGTH = KEPT_LENGTH - BURST_LENGTH;

/** An answer that cannot be held back is looked at after so many characters of JSON. */
const CHECK_LENGTH = 1024 * 1024;

const NOT_STORED = 'The service could not store the answer, and has logged the cause. Send the query again.';

/**
 * Writes what the handler of one run emits: to the log, to the files, and to what the turn keeps.
 *
 * It holds the handler back when nobody reads the answer as fast as it comes. Without that, an answer of any length would be kept
 * in memory. An Observable cannot be held back, so it fails if it is too fast for any store.
 */
export class AnswerWriter {
  #kept = new KeptAnswer();
  #hasResult = false;
  #commit: Promise<void> | undefined;
  /** Settles when what was appended is stored, or cannot be. */
  #stored: Promise<void> | undefined;
  /** Made with the first file or question. */
  #values: OrderedValues | undefined;
  /** Characters of JSON that the handler has emitted. */
  #emittedLength = 0;
  /** How many of them had been emitted when the handler was held back last. */
  #lengthAtPause = 0;
  /** How many of them are known to be stored. */
  #storedLength = 0;
  #isChecking = false;
  readonly #notify = () => this.run.followers.notify();
  readonly #fail = (error: unknown) => this.run.stopFailed(notStored(error));

  constructor(
    private readonly services: RunnerServices,
    private readonly run: LiveRun,
    private readonly record: RunRecord,
    private readonly timeLimit: TimeLimit,
  ) {}

  get kept(): TurnAnswer {
    return this.#kept.value;
  }

  continue(answer: TurnAnswer): void {
    this.#kept = new KeptAnswer(answer);
    this.#hasResult = answer.envelopes.some(({ type }) => type === 'result');
  }

  /** Takes a value that the handler has emitted. It never throws; it stops the run if the value is not valid. */
  take(value: unknown): void {
    if (this.run.hasEnded) return;
    try {
      if (isFile(value)) this.#values ??= this.#orderedValues();
      if (this.#values) this.#values.take(value);
      else this.#write(value);
    } catch (error) {
      this.run.stopFailed(error);
    }
  }

  /** Does a step in its place in the answer: what is emitted meanwhile waits behind it. */
  inTurn<T>(step: () => Promise<T>): Promise<T> {
    this.#values ??= this.#orderedValues();
    return this.#values.inTurn(step);
  }

  /** Keeps an envelope for the turn that the store has written. */
  keep(text: string): void {
    if (this.record.sessionId !== undefined) this.#kept.add(JSON.parse(text) as Envelope, text);
  }

  /** A promise if the handler must be held back: it resolves when the handler may go on, and never rejects. */
  pause(): Promise<void> | undefined {
    if (this.#values?.storing) return this.#values.storing;
    return this.#emittedLength - this.#lengthAtPause < BURST_LENGTH ? undefined : this.#wait();
  }

  async settled(): Promise<void> {
    while (this.#values?.storing) await this.#values.storing;
  }

  /** The run has stopped: the file that is being received is not wanted any more. */
  stop(): void {
    this.#values?.stop();
  }

  #orderedValues(): OrderedValues {
    return new OrderedValues(this.services, this.run, this.record, (value) => this.#write(value));
  }

  #write(value: unknown): void {
    if (this.run.hasEnded) return;
    const envelope = value as Envelope;
    const text = envelopeText(envelope, this.services.options.envelopeLength);
    if (envelope.type === 'result') this.#takeResult();
    if (this.record.sessionId !== undefined) this.#kept.add(envelope, text);
    this.run.observation.emitted(envelope, text.length);
    if (envelope.type === 'usage') this.#appendUsage(text);
    else this.#append(text);
    const unstored = this.#emittedLength - this.#storedLength;
    if (unstored >= CHECK_LENGTH && !this.#isChecking) void this.#check();
    if (unstored > MAX_UNSTORED_LENGTH) throw tooFast();
  }

  #takeResult(): void {
    if (this.#hasResult) throw invalidEnvelope('it is a second `result`, and a run has one at most');
    this.#hasResult = true;
  }

  /** Before the answer goes on, or the run ends, a hard budget is looked at. */
  #appendUsage(text: string): void {
    const { budgets, settings } = this.services;
    const { data } = JSON.parse(text) as UsageEnvelope;
    const used = budgets.used(this.run.owner, data);
    this.#append(text, used);
    this.run.observation.used(this.record, data, used.price);
    if (settings.budgets) void this.inTurn(() => this.#checkBudget());
  }

  async #checkBudget(): Promise<void> {
    await this.#stored;
    const exceeded = await this.services.budgets.exceeded(this.run.owner).catch((error: QueryError) => error);
    // A run waits for the end of an outage. Its next usage is looked at after it.
    if (exceeded && exceeded.code !== 'unavailable') this.run.stopFailed(exceeded);
  }

  #append(text: string, used?: Used): void {
    this.#emittedLength += text.length;
    const commit = this.services.store.append(this.record, text, used);
    if (!commit) return this.#notify();
    if (commit === this.#commit) return;
    this.#commit = commit;
    this.#stored = commit.then(this.#notify, this.#fail);
  }

  /** Learns how much is stored. */
  async #check(): Promise<void> {
    this.#isChecking = true;
    const emitted = this.#emittedLength;
    await this.#settledTick();
    this.#storedLength = emitted;
    this.#isChecking = false;
  }

  /** Waits one tick, then for the store, then until the fastest follower is near. */
  async #wait(): Promise<void> {
    await this.#settledTick();
    if (this.#isFarAhead) {
      this.timeLimit.pause();
      while (this.#isFarAhead) await this.run.followers.nextAdvance();
      this.timeLimit.start();
    }
    this.#lengthAtPause = this.#emittedLength;
  }

  /** Resolves after a tick, when what has been appended until now is in the store, or cannot be stored. */
  async #settledTick(): Promise<void> {
    const stored = this.#stored;
    await new Promise((resolve) => setImmediate(resolve));
    await stored;
  }

  get #isFarAhead(): boolean {
    return !this.run.hasEnded && this.run.followers.lag(this.#emittedLength) > LAG_LENGTH;
  }
}

/** A refusal of the store has a sentence for the caller. */
function notStored(error: unknown): QueryError {
  return error instanceof QueryError ? error : new QueryError('internal', NOT_STORED, {}, { cause: error });
}
