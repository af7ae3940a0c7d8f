import {
  AgentQueryError,
  type AnswerEnvelope,
  type ResumeInfo,
  type RunEnd,
  type Turn as KeptTurn,
  type TurnText,
} from 'nest-agent-query-client';
import { type Asked, AnswerView } from '../answer/answer-view.js';
import { counted } from '../text.js';
import { newId } from './new-id.js';

/** A file of a question. One of an earlier turn has a digest; its content is with the service. */
export interface QuestionFile {
  name: string;
  mimeType: string;
  size: number;
  content?: Blob;
  sha256?: string;
}

/** What the user asks. */
export interface Question {
  text: string;
  files: QuestionFile[];
  kwargs: Record<string, unknown>;
  /** Whether only the beginning of the text is here. */
  isCut?: boolean;
}

/** Why there is no answer, or not a whole one. */
export interface Failure {
  code: string;
  message: string;
  faults: string[];
}

/** `broken`: the connection is lost, and the run may continue. */
export type TurnStatus = 'sending' | 'running' | RunEnd['status'] | 'broken';

/** A question and its answer. */
export class Turn {
  /** Tells turns apart, and is the idempotency key of the query. */
  readonly key = newId();
  runId: string | undefined;
  /** Undefined while only another window knows it. */
  question: Question | undefined;
  answer = new AnswerView();
  status: TurnStatus = 'sending';
  failure: Failure | undefined;
  /** What the page waits for, if it is not the agent. */
  notice: string | undefined;
  upload: { sent: number; total: number | undefined } | undefined;
  isStopping = false;
  /** Whether this window has asked. */
  isOwn = false;
  /** The digest of the whole text, if the service has shown only its beginning. */
  wholeText: string | undefined;
  /** Counts changes. */
  version = 0;

  /** @param kwargs the metadata, which the service does not show */
  static of(kept: KeptTurn, kwargs: Question['kwargs']): Turn {
    const turn = new Turn();
    turn.runId = kept.runId;
    turn.question = { ...questionOf(kept), kwargs };
    kept.envelopes.forEach((envelope, index) => turn.answer.add(index + 1, envelope as AnswerEnvelope));
    if (kept.truncated) turn.wholeText = kept.sha256;
    turn.end(kept.end);
    return turn;
  }

  /** Whether the service knows more of the question: another window has asked, or this one before it was loaded again. */
  get lacksQuestion(): boolean {
    return this.question?.files.every(({ content, sha256 }) => content ?? sha256) !== true;
  }

  learn(question: Question): void {
    this.question = { ...question, kwargs: this.question?.kwargs ?? question.kwargs };
    this.version += 1;
  }

  get isLive(): boolean {
    return this.status === 'sending' || this.status === 'running';
  }

  /** What the run asks, and nobody has answered. Its connection may be lost meanwhile. */
  get openRequests(): Asked[] {
    return this.isLive || this.status === 'broken' ? this.answer.open : [];
  }

  /** What the run asks, for who listens. */
  get asks(): string {
    const open = this.openRequests.map(({ request }) => request.message);
    return open.length === 0 ? 'No request is open.' : `The agent asks: ${open.join(' ')}`;
  }

  /** How the turn ended, for who listens. */
  get outcome(): string {
    const { length } = this.answer.suggestions;
    if (this.status === 'completed')
      return length === 0
        ? 'Answer complete.'
        : `Answer complete. ${counted(length, 'suggestion')} below it.`;
    if (this.status === 'cancelled') return 'The answer was stopped.';
    return `The answer failed. ${this.failure?.message ?? ''}`;
  }

  /** Whether the service may have the query, although no response has come. */
  get mayBeAdmitted(): boolean {
    return this.runId === undefined && this.failure?.code === 'connection_lost';
  }

  sending(): void {
    this.status = 'sending';
    this.failure = undefined;
    this.notice = this.question?.files.length ? 'Reading the files.' : undefined;
    this.version += 1;
  }

  /** @param seq the number of the envelope in the log */
  add(seq: number, envelope: AnswerEnvelope): void {
    this.notice = undefined;
    if (envelope.type === 'done') this.end(envelope.data);
    else this.answer.add(seq, envelope);
    this.version += 1;
  }

  admitted(runId: string): void {
    this.runId = runId;
    this.upload = undefined;
    this.notice = undefined;
    if (this.status === 'sending') this.status = 'running';
    this.version += 1;
  }

  uploaded(sent: number, total: number | undefined): void {
    this.upload = { sent, total };
    this.notice = undefined;
    this.version += 1;
  }

  resuming({ attempt, delayMs, error }: ResumeInfo): void {
    const { status } = error as AgentQueryError;
    // The service ends the response of a run that asks after a while, and the client asks again.
    if (attempt === 1 && status === undefined && this.openRequests.length > 0) return;
    const seconds = Math.max(1, Math.round(delayMs / 1000));
    const why = status === undefined ? 'Connection lost. Reconnecting' : `${error.message} Trying again`;
    this.notice = `${why} in ${seconds} s (try ${attempt}).`;
    this.upload = undefined;
    this.version += 1;
  }

  /** The answer cannot be read (further). */
  fail(error: unknown): void {
    const { code = 'internal', message, errors = [] } = error as AgentQueryError;
    // The user has stopped it before the service had it.
    if (code === 'cancelled') return this.#stop('cancelled');
    const mayContinue = this.runId !== undefined && code !== 'cursor_expired' && code !== 'not_found';
    this.failure = {
      code,
      message,
      faults: errors.length > 1 ? errors.map(({ pointer, detail }) => `${pointer} ${detail}`) : [],
    };
    this.#stop(mayContinue ? 'broken' : 'failed');
  }

  /** What the user has asked for cannot be done. */
  refuse(what: string, error: unknown): void {
    const { code = 'internal', message } = error as AgentQueryError;
    if (this.isLive) this.notice = `${what} ${message}`;
    else this.failure = { code, message: `${what} ${message}`, faults: [] };
    this.isStopping = false;
    this.version += 1;
  }

  end(end: RunEnd): void {
    if (end.status === 'failed') this.failure = { ...end.error, faults: [] };
    this.#stop(end.status);
  }

  #stop(status: TurnStatus): void {
    this.status = status;
    this.notice = undefined;
    this.upload = undefined;
    this.isStopping = false;
    this.answer.progress = undefined;
    this.version += 1;
  }
}

export function questionOf({ parts }: Pick<KeptTurn, 'parts'>): Question {
  const texts = parts.filter((part): part is TurnText => part.type === 'text' && !part.earlier);
  return {
    text: texts.map(({ text }) => text).join('\n\n'),
    files: parts.flatMap((part) => (part.type === 'file' ? [part] : [])),
    kwargs: {},
    isCut: texts.some(({ truncated }) => truncated),
  };
}
