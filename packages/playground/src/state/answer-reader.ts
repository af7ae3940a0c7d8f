import type { AgentQueryError, Answer } from 'nest-agent-query-client';
import { AnswerView } from '../answer/answer-view.js';
import type { Calls } from './calls.js';
import type { Question, Turn } from './turn.js';

/** What is told while an answer is read. */
interface Listener {
  changed(): void;
  admitted(turn: Turn, runId: string): void;
}

/** Sends the queries of a session, and reads the answers into its turns. */
export class AnswerReader {
  readonly #answers = new Map<Turn, Answer>();

  constructor(
    private readonly session: string,
    private readonly calls: Calls,
    private readonly listener: Listener,
  ) {}

  /** Sends a query. @returns when its answer has ended, or cannot be read further */
  ask(turn: Turn, question: Question): Promise<void> {
    return this.#read(turn, () => this.#submit(turn, question));
  }

  /** @param after the number of the last envelope that is not wanted */
  async follow(turn: Turn, after = 0): Promise<void> {
    turn.status = 'running';
    const onResume = (info: Parameters<Turn['resuming']>[0]) => this.#tell(() => turn.resuming(info));
    await this.#read(turn, () => this.calls.client.follow(turn.runId!, after, { onResume }));
  }

  async cancel(turn: Turn): Promise<void> {
    await this.calls.during(async () => this.#answers.get(turn)?.cancel());
  }

  #submit(turn: Turn, { text, files, kwargs }: Question): Answer {
    const onUpload =
      files.length === 0
        ? undefined
        : this.calls.wire.upload(turn.key, text, files, { ...kwargs, session_id: this.session });
    return this.calls.client.ask(text === '' ? [] : text, {
      files: files.map(({ name, mimeType, content }) => ({ name, mimeType, content: content! })),
      kwargs,
      sessionId: this.session,
      idempotencyKey: turn.key,
      onResume: (info) => this.#tell(() => turn.resuming(info)),
      ...(onUpload && {
        onUpload: (sent: number, total?: number) => {
          onUpload(sent, total);
          this.#tell(() => turn.uploaded(sent, total));
        },
      }),
    });
  }

  async #read(turn: Turn, start: () => Answer): Promise<void> {
    this.listener.changed();
    try {
      await this.calls.during(() => this.#attempt(turn, start()));
    } catch (error) {
      const { code, problem } = error as AgentQueryError;
      // The beginning of a very long answer is no longer kept: the rest is.
      if (code === 'cursor_expired' && problem?.oldest && turn.answer.items.length === 0)
        return this.follow(turn, problem.oldest - 1);
      turn.fail(error);
    }
    this.#answers.delete(turn);
  }

  async #attempt(turn: Turn, answer: Answer): Promise<void> {
    this.#answers.set(turn, answer);
    turn.answer = new AnswerView();
    void answer.runId.then(
      (runId) => this.#tell(() => this.listener.admitted(turn, runId)),
      () => undefined,
    );
    try {
      let seq = answer.after;
      for await (const envelope of answer) this.#tell(() => turn.add((seq += 1), envelope));
      // The log may have ended before its last event could be read.
      if (turn.isLive) turn.end((await answer.result()) as Parameters<Turn['end']>[0]);
    } catch (error) {
      this.calls.wire.uploadFailed(turn.key, error as Error);
      throw error;
    }
  }

  #tell(change: () => void): void {
    change();
    this.listener.changed();
  }
}
