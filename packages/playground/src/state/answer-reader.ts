import type { AgentQueryError, Answer, AnswerEnvelope } from 'nest-agent-query-client';
import { AnswerView } from '../answer/answer-view.js';
import type { Calls } from './calls.js';
import type { Question, Turn } from './turn.js';

/** What is told while an answer is read. */
interface Listener {
  changed(): void;
  admitted(turn: Turn, runId: string): void;
  /** The run has asked, or a request of it was resolved. */
  asked(turn: Turn): void;
}

/** An open connection has brought the news after so many milliseconds. */
const NEWS_MS = 300;

/** Why an answer is read with another connection. */
const READ_ON = new Error('There is news.');

/** Sends the queries of a session, and reads the answers into its turns. */
export class AnswerReader {
  readonly #answers = new Map<Turn, { answer: Answer; controller: AbortController }>();

  constructor(
    private readonly session: string,
    private readonly calls: Calls,
    private readonly listener: Listener,
  ) {}

  /** Sends a query. @returns when its answer has ended, or cannot be read further */
  ask(turn: Turn, question: Question): Promise<void> {
    return this.#read(turn, (signal) => this.#submit(turn, question, signal));
  }

  /** @param after the number of the last envelope that is not wanted */
  async follow(turn: Turn, after = 0): Promise<void> {
    turn.status = 'running';
    await this.#read(turn, (signal) => this.#follow(turn, after, signal));
  }

  /**
   * The log of a run has what has become of a request. The response of a run that asks may have ended, and the client may wait before
   * it asks again: then the log is read at once.
   */
  readOn(turn: Turn, request: string): void {
    const reading = this.#answers.get(turn);
    setTimeout(() => {
      const isMissing = turn.openRequests.some(({ request: { id } }) => id === request);
      if (isMissing && this.#answers.get(turn) === reading) reading?.controller.abort(READ_ON);
    }, NEWS_MS);
  }

  async cancel(turn: Turn): Promise<void> {
    await this.calls.during(async () => this.#answers.get(turn)?.answer.cancel());
  }

  #follow(turn: Turn, after: number, signal: AbortSignal): Answer {
    const onResume = (info: Parameters<Turn['resuming']>[0]) => this.#tell(() => turn.resuming(info));
    return this.calls.client.follow(turn.runId!, after, { onResume, signal });
  }

  #submit(turn: Turn, { text, files, kwargs }: Question, signal: AbortSignal): Answer {
    const onUpload =
      files.length === 0
        ? undefined
        : this.calls.wire.upload(turn.key, text, files, { ...kwargs, session_id: this.session });
    return this.calls.client.ask(text === '' ? [] : text, {
      files: files.map(({ name, mimeType, content }) => ({ name, mimeType, content: content! })),
      kwargs,
      sessionId: this.session,
      idempotencyKey: turn.key,
      signal,
      onResume: (info) => this.#tell(() => turn.resuming(info)),
      ...(onUpload && {
        onUpload: (sent: number, total?: number) => {
          onUpload(sent, total);
          this.#tell(() => turn.uploaded(sent, total));
        },
      }),
    });
  }

  async #read(turn: Turn, start: (signal: AbortSignal) => Answer): Promise<void> {
    this.listener.changed();
    try {
      await this.calls.during(() => this.#attempt(turn, start));
    } catch (error) {
      const { code, problem } = error as AgentQueryError;
      // The beginning of a very long answer is no longer kept: the rest is.
      if (code === 'cursor_expired' && problem?.oldest && turn.answer.items.length === 0)
        return this.follow(turn, problem.oldest - 1);
      turn.fail(error);
    }
    this.#answers.delete(turn);
  }

  async #attempt(turn: Turn, start: (signal: AbortSignal) => Answer): Promise<void> {
    turn.answer = new AnswerView();
    for (let open = start; ;) {
      const controller = new AbortController();
      const answer = open(controller.signal);
      this.#answers.set(turn, { answer, controller });
      void answer.runId.then(
        (runId) => this.#tell(() => this.listener.admitted(turn, runId)),
        () => undefined,
      );
      let seq = answer.after;
      try {
        for await (const envelope of answer) this.#add(turn, (seq += 1), envelope);
        // The log may have ended before its last event could be read.
        if (turn.isLive) turn.end((await answer.result()) as Parameters<Turn['end']>[0]);
        return;
      } catch (error) {
        if (error !== READ_ON) {
          this.calls.wire.uploadFailed(turn.key, error as Error);
          throw error;
        }
        open = (signal) => this.#follow(turn, seq, signal);
      }
    }
  }

  #add(turn: Turn, seq: number, envelope: AnswerEnvelope): void {
    this.#tell(() => turn.add(seq, envelope));
    if (envelope.type === 'input_required' || envelope.type === 'input_resolved') this.listener.asked(turn);
  }

  #tell(change: () => void): void {
    change();
    this.listener.changed();
  }
}
