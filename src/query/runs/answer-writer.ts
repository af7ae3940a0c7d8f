import { envelopeText } from '../contract/envelope-text.js';
import { QueryError } from '../contract/errors.js';
import type { Envelope, FileEnvelope, TurnAnswer, TurnFile } from 'nest-agent-query-client';
import type { AnswerFiles } from '../files/answer-files.js';
import type { RunRecord } from '../ports/run-store.js';
import type { Intake } from './answer.js';
import { Backpressure, TOO_FAST } from './backpressure.js';
import { EmittedFiles, isFile } from './emitted-files.js';
import { KeptAnswer } from './kept-answer.js';
import type { LiveRun, RunnerServices } from './runner-services.js';
import type { TimeLimit } from './time-limit.js';

const NOT_STORED = 'The service could not store the answer, and has logged the cause. Send the query again.';

/** Writes what the handler of one run emits: to the log, to the files, and to what the turn keeps. */
export class AnswerWriter implements Intake {
  readonly #backpressure: Backpressure;
  #kept = new KeptAnswer();
  #record: RunRecord | undefined;
  #commit: Promise<void> | undefined;
  /** Settles when what was appended is stored, or cannot be. */
  #stored: Promise<void> | undefined;
  /** Made with the first file. */
  #files: { order: EmittedFiles; contents: AnswerFiles } | undefined;

  constructor(
    private readonly services: RunnerServices,
    private readonly run: LiveRun,
    timeLimit: TimeLimit,
  ) {
    this.#backpressure = new Backpressure(run.followers, () => run.hasEnded, timeLimit);
  }

  get kept(): TurnAnswer {
    return this.#kept.value;
  }

  /** From now on the answer of this attempt is written. */
  begin(record: RunRecord): void {
    this.#record = record;
  }

  /** Continues what earlier attempts have left. */
  continue(answer: TurnAnswer): void {
    this.#kept = new KeptAnswer(answer);
  }

  /** Takes a value that the handler has emitted. It never throws; it stops the run if the value is not valid. */
  take(value: unknown): void {
    if (this.run.hasEnded) return;
    try {
      if (this.#files || isFile(value)) this.#inOrder.take(value);
      else this.#write(value as Envelope);
    } catch (error) {
      this.run.stopFailed(error);
    }
  }

  pause(): Promise<void> | undefined {
    return this.#files?.order.storing ?? this.#backpressure.pause(this.#stored);
  }

  /** Resolves when all files that were emitted are stored. */
  async settled(): Promise<void> {
    while (this.#files?.order.storing) await this.#files.order.storing;
  }

  /** The run has stopped: the file that is being received is not wanted any more. */
  stop(): void {
    this.#files?.contents.stop();
  }

  get #inOrder(): EmittedFiles {
    this.#files ??= {
      contents: this.services.files.ofAnswer(),
      order: new EmittedFiles({
        store: (data) => this.#storeFile(data),
        take: (value) => this.#write(value as Envelope),
        expect: (file) => this.#files!.contents.expect(file as object),
        fail: (error) => this.run.stopFailed(error),
      }),
    };
    return this.#files.order;
  }

  #write(value: Envelope): void {
    if (this.run.hasEnded) return;
    const text = envelopeText(value, this.services.options.envelopeLength);
    if (this.#record!.sessionId !== undefined) this.#kept.add(value, text);
    this.run.observation.emitted(value, text.length);
    this.#append(text);
    if (this.#backpressure.isTooFast(this.#stored)) throw new QueryError('answer_too_fast', TOO_FAST);
  }

  async #storeFile(data: unknown): Promise<void> {
    if (this.run.hasEnded) return;
    const record = this.#record!;
    const { name, mimeType, content } = await this.#files!.contents.receive(data);
    const { size, sha256 } = content;
    try {
      const file: TurnFile = { type: 'file', name, mimeType, size, sha256 };
      const { files, store } = this.services;
      if (!this.run.hasEnded)
        await files.keepOfAnswer(store, record, file, await content.file(name, mimeType));
    } finally {
      await content.discard();
    }
    const path = `${record.path ?? this.services.path}/${record.id}/files/${sha256}`;
    this.#write({ type: 'file', data: { name, mimeType, size, sha256, path } } satisfies FileEnvelope);
  }

  #append(text: string): void {
    this.#backpressure.emitted(text.length);
    const { followers } = this.run;
    const commit = this.services.store.append(this.#record!, text);
    if (!commit) return followers.notify();
    if (commit === this.#commit) return;
    this.#commit = commit;
    this.#stored = commit.then(
      () => followers.notify(),
      (error: unknown) => this.run.stopFailed(notStored(error)),
    );
  }
}

/** A refusal of the store has a sentence for the caller. */
function notStored(error: unknown): QueryError {
  return error instanceof QueryError ? error : new QueryError('internal', NOT_STORED, {}, { cause: error });
}
