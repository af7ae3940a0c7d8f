import { AgentQueryError, type Answer } from '../../../client/index.js';
import { AnswerView } from '../answer/answer-view.js';
import type { Calls } from './calls.js';
import { forgetQuestion, recallQuestion, rememberQuestion } from './questions.js';
import type { Sessions } from './sessions.js';
import { Store } from './store.js';
import { type Question, type QuestionFile, questionOf, Turn } from './turn.js';

/** How many turns are loaded at a time. */
const PAGE = 30;

/** A session: its turns, and the runs that are followed. */
export class Conversation extends Store {
  turns: Turn[] = [];
  isLoading = false;
  /** Why the turns cannot be shown. */
  fault: string | undefined;
  /** How many turns before the first one are not loaded. */
  earlier = 0;
  /** What is read out. */
  announcement = '';
  /** Whether the service knows the session. */
  isKept = false;
  readonly #answers = new Map<Turn, Answer>();
  #pageAfter = 0;

  constructor(
    readonly id: string,
    readonly calls: Calls,
    private readonly sessions: Sessions,
  ) {
    super();
  }

  /** The newest run that has not ended. */
  get live(): Turn | undefined {
    return this.turns.findLast((turn) => turn.isLive);
  }

  /** @param count how many turns the session has, as far as the list of sessions says */
  async load(count = 0): Promise<void> {
    this.earlier = Math.max(0, count - PAGE);
    this.#pageAfter = this.earlier;
    this.isLoading = true;
    this.changed();
    await this.refresh();
    this.isLoading = false;
    this.changed();
  }

  /** Shows turns and runs that came from elsewhere: another window, or this one before it was loaded again. */
  async refresh(): Promise<void> {
    try {
      const { active, waiting } = await this.calls.during(() => this.#loadPages());
      this.fault = undefined;
      if (active !== null || waiting > 0) await this.#followOthers();
    } catch (error) {
      const isUnknown = error instanceof AgentQueryError && error.code === 'not_found';
      if (!isUnknown) this.fault = (error as Error).message;
    }
    this.changed();
  }

  async loadEarlier(): Promise<void> {
    const after = Math.max(0, this.earlier - PAGE);
    const limit = this.earlier - after;
    try {
      const page = await this.calls.during(() => this.calls.client.session(this.id, { after, limit }));
      const known = new Set(this.turns.map(({ runId }) => runId));
      const added = page.turns.filter(({ runId }) => !known.has(runId));
      this.turns = [...added.map((turn) => Turn.of(turn)), ...this.turns];
      this.earlier = after;
    } catch (error) {
      this.fault = (error as Error).message;
    }
    this.changed();
  }

  ask(question: Question): void {
    const turn = new Turn();
    turn.question = question;
    this.turns.push(turn);
    this.isKept = true;
    this.#send(turn, question);
  }

  /** Asks the same again. */
  async retry(turn: Turn): Promise<void> {
    const { question, runId } = turn;
    if (!question) return;
    // The service may have the query without the page knowing it: with its key, it is not executed twice.
    if (turn.mayBeAdmitted) return this.#send(turn, question);
    try {
      const files = await Promise.all(question.files.map((file) => this.#withContent(file, runId)));
      this.ask({ ...question, files });
    } catch (error) {
      this.#tell(() => turn.refuse('The files cannot be sent again.', error));
    }
  }

  /** Reads an answer further whose connection is lost. */
  resume(turn: Turn): void {
    turn.failure = undefined;
    void this.#follow(turn);
  }

  async stop(turn: Turn): Promise<void> {
    turn.isStopping = true;
    turn.version += 1;
    this.announce('Stopping.');
    try {
      await this.#answers.get(turn)?.cancel();
    } catch (error) {
      this.#tell(() => turn.refuse('The run cannot be stopped.', error));
    }
  }

  /** Reads the whole text of an answer of which a page has shown the beginning. */
  async loadWhole(turn: Turn): Promise<void> {
    const { runId, wholeText } = turn;
    try {
      turn.answer.replaceText(await this.calls.text(runId!, wholeText!));
      turn.wholeText = undefined;
      this.#tell(() => (turn.version += 1));
    } catch (error) {
      this.#tell(() => turn.refuse('The text cannot be read.', error));
    }
  }

  announce(text: string): void {
    this.announcement = text;
    this.changed();
  }

  #send(turn: Turn, question: Question): void {
    turn.sending();
    this.announce('Sent.');
    void this.#consume(turn, () => this.#submit(turn, question));
  }

  #submit(turn: Turn, { text, files, kwargs }: Question): Answer {
    const onUpload =
      files.length === 0
        ? undefined
        : this.calls.wire.upload(turn.key, text, files, { ...kwargs, session_id: this.id });
    return this.calls.client.ask(text === '' ? [] : text, {
      files: files.map(({ name, mimeType, content }) => ({ name, mimeType, content: content! })),
      kwargs,
      sessionId: this.id,
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

  async #follow(turn: Turn, after = 0): Promise<void> {
    turn.status = 'running';
    const onResume = (info: Parameters<Turn['resuming']>[0]) => this.#tell(() => turn.resuming(info));
    await this.#consume(turn, () => this.calls.client.follow(turn.runId!, after, { onResume }));
  }

  async #consume(turn: Turn, start: () => Answer): Promise<void> {
    this.changed();
    try {
      await this.calls.during(() => this.#read(turn, start()));
    } catch (error) {
      const { code, problem } = error as AgentQueryError;
      this.calls.wire.uploadFailed(turn.key, error as Error);
      // The beginning of a very long answer is no longer kept: the rest is.
      if (code === 'cursor_expired' && problem?.oldest && turn.answer.items.length === 0)
        return this.#follow(turn, problem.oldest - 1);
      turn.fail(error);
    }
    this.#answers.delete(turn);
    if (turn.runId && turn.status !== 'broken') forgetQuestion(turn.runId);
    this.announce(endOf(turn));
    await Promise.all([this.sessions.reload(), turn.lacksQuestion ? this.refresh() : undefined]);
  }

  async #read(turn: Turn, answer: Answer): Promise<void> {
    this.#answers.set(turn, answer);
    turn.answer = new AnswerView();
    void answer.runId.then(
      (runId) => this.#tell(() => this.#admitted(turn, runId)),
      () => undefined,
    );
    let seq = answer.after;
    for await (const envelope of answer) this.#tell(() => turn.add((seq += 1), envelope));
    // The log may have ended before its last event could be read.
    if (turn.isLive) turn.end((await answer.result()) as Parameters<Turn['end']>[0]);
  }

  #admitted(turn: Turn, runId: string): void {
    const isNews = turn.runId === undefined;
    turn.admitted(runId);
    this.calls.wire.uploadAdmitted(turn.key, runId);
    if (turn.question) rememberQuestion(runId, turn.question);
    if (isNews) void this.sessions.reload();
  }

  #tell(change: () => void): void {
    change();
    this.changed();
  }

  /** Loads the newest turns. A page ends at a size, so that there may be several. */
  async #loadPages(): Promise<{ active: string | null; waiting: number }> {
    for (;;) {
      const page = await this.calls.client.session(this.id, { after: this.#pageAfter, limit: 500 });
      this.isKept = true;
      for (const kept of page.turns) {
        const known = this.turns.find(({ runId }) => runId === kept.runId);
        if (!known) this.turns.push(Turn.of(kept));
        else if (known.lacksQuestion) known.learn(questionOf(kept));
      }
      if (page.next === null) return page;
      this.#pageAfter = page.next;
    }
  }

  async #followOthers(): Promise<void> {
    const { runs } = await this.calls.client.runs({ session: this.id });
    const unfinished = runs.filter(
      ({ id, endedAt }) => endedAt === null && !this.turns.some(({ runId }) => runId === id),
    );
    for (const { id } of unfinished.reverse()) {
      const turn = new Turn();
      turn.runId = id;
      turn.question = recallQuestion(id);
      this.turns.push(turn);
      void this.#follow(turn);
    }
  }

  async #withContent(file: QuestionFile, runId: string | undefined): Promise<QuestionFile> {
    if (file.content) return file;
    return { ...file, content: await this.calls.content(runId!, file) };
  }
}

function endOf({ status, failure }: Turn): string {
  if (status === 'completed') return 'Answer complete.';
  if (status === 'cancelled') return 'The answer was stopped.';
  return `The answer failed. ${failure?.message ?? ''}`;
}
