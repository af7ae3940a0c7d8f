import { AgentQueryError } from 'nest-agent-query-client';
import { AnswerReader } from './answer-reader.js';
import type { Calls } from './calls.js';
import type { Told } from './other-windows.js';
import * as questions from './questions.js';
import { Requests } from './requests.js';
import type { Sessions } from './sessions.js';
import { Store } from './store.js';
import { type Question, Turn } from './turn.js';
import { TurnList } from './turn-list.js';
import { TurnPages } from './turn-pages.js';
import { newVersionOf } from './versions.js';

/** A session: its turns, and the runs that are followed. */
export class Conversation extends Store {
  isLoading = false;
  /** Why the turns cannot be shown. */
  fault: string | undefined;
  /** What is read out. */
  announcement = '';
  /** Whether the service knows the session. */
  isKept = false;
  /** What the user has written and not sent. */
  draft: { text: string; files: File[] } = { text: '', files: [] };
  readonly requests: Requests;
  readonly #list = new TurnList();
  readonly #reader: AnswerReader;
  readonly #pages: TurnPages;
  /** Whether others may have asked while the page did not know which run is its own. */
  #isBehind = false;

  constructor(
    readonly id: string,
    readonly calls: Calls,
    private readonly sessions: Sessions,
    private readonly tell: (told: Told) => void,
  ) {
    super();
    this.#pages = new TurnPages(id, calls, this.#list);
    this.#reader = new AnswerReader(id, calls, {
      changed: () => this.changed(),
      admitted: (turn, runId) => this.#admitted(turn, runId),
      asked: (turn) => {
        this.announce(turn.asks);
        void this.sessions.reload();
      },
    });
    this.requests = new Requests(calls, this);
  }

  get turns(): Turn[] {
    return this.#list.all;
  }

  get live(): Turn | undefined {
    return this.#list.live;
  }

  /** How many turns before the first one are not loaded. */
  get earlier(): number {
    return this.#pages.earlier;
  }

  /** @param count how many turns the session has, as far as the list of sessions says */
  async load(count = 0): Promise<void> {
    this.#pages.begin(count);
    this.isLoading = true;
    this.changed();
    await this.calls.during(() => this.#refresh()).catch((error: Error) => (this.fault = error.message));
    this.isLoading = false;
    this.changed();
  }

  /** Shows turns and runs that came from elsewhere: another window, or this one before it was loaded again. */
  async refresh(): Promise<void> {
    await this.#refresh().catch((error: Error) => (this.fault = error.message));
    this.changed();
  }

  async loadEarlier(): Promise<void> {
    try {
      await this.#pages.loadEarlier();
    } catch (error) {
      this.fault = (error as Error).message;
    }
    this.changed();
  }

  ask(question: Question): void {
    const turn = new Turn();
    turn.question = question;
    this.#list.add(turn);
    this.isKept = true;
    this.#send(turn, question);
  }

  /** Asks the same again. */
  async retry(turn: Turn): Promise<void> {
    // The run has just ended, and the service has not said yet where its files are.
    if (turn.runId && turn.lacksQuestion) await this.refresh();
    const { question, runId } = turn;
    if (!question) return;
    // The service may have the query without the page knowing it: with its key, it is not executed twice.
    if (turn.mayBeAdmitted) return this.#send(turn, question);
    try {
      const files = await Promise.all(question.files.map((file) => this.calls.withContent(file, runId)));
      this.ask({ ...question, files });
    } catch (error) {
      this.#change(() => turn.refuse('The files cannot be sent again.', error));
    }
  }

  /** The number of a turn in the session, from 1; of one that the service does not have, that of the next one. */
  numberOf(turn: Turn): number {
    const before = this.turns.slice(0, this.turns.indexOf(turn));
    return this.earlier + before.filter(({ runId }) => runId !== undefined).length + 1;
  }

  /**
   * Makes another version of the session, for another text in place of a question. The session stays as it is.
   *
   * @returns the id of the version, and what is to be asked there; undefined if that is not possible, which the turn says then
   */
  async newVersion(turn: Turn, text: string): Promise<{ id: string; question: Question } | undefined> {
    if (turn.lacksQuestion) await this.refresh();
    const { question, runId } = turn;
    if (!question) return undefined;
    const number = this.numberOf(turn);
    const id = newVersionOf(this.id, number);
    try {
      const files = await Promise.all(question.files.map((file) => this.calls.withContent(file, runId)));
      await this.calls.during(() => this.calls.client.fork(this.id, number - 1, { newId: id }));
      await this.sessions.reload();
      return { id, question: { ...question, text, files } };
    } catch (error) {
      this.#change(() => turn.refuse('The question cannot be asked again.', error));
      return undefined;
    }
  }

  /** Reads an answer further whose connection is lost. */
  resume(turn: Turn): void {
    turn.failure = undefined;
    this.#follow(turn);
  }

  /** Gives the focus to a request of a run, as soon as it is shown. */
  showRequest(runId: string, id: string): void {
    this.requests.want(runId, id);
    const turn = this.#list.of(runId);
    if (turn) turn.version += 1;
    this.changed();
  }

  async stop(turn: Turn): Promise<void> {
    turn.isStopping = true;
    turn.version += 1;
    this.announce('Stopping.');
    try {
      await this.#reader.cancel(turn);
    } catch (error) {
      this.#change(() => turn.refuse('The run cannot be stopped.', error));
    }
  }

  /** Reads the whole text of an answer of which a page has shown the beginning. */
  async loadWhole(turn: Turn): Promise<void> {
    const { runId, wholeText } = turn;
    try {
      turn.answer.replaceText(await this.calls.text(runId!, wholeText!));
      turn.wholeText = undefined;
      this.#change(() => (turn.version += 1));
    } catch (error) {
      this.#change(() => turn.refuse('The text cannot be read.', error));
    }
  }

  announce(text: string): void {
    this.announcement = text;
    this.changed();
  }

  /** The log of a run says, or will say at once, what has become of a request, because this window has answered. */
  resolved(turn: Turn, request: string): void {
    this.#readOn(turn, request);
    this.tell({ type: 'resolved', runId: turn.runId!, request });
  }

  /** What another window tells. */
  hear(told: Told): void {
    if (told.type === 'changed') return void this.refresh();
    const { runId } = told;
    const turn = this.#list.of(runId);
    if (told.type === 'resolved') return void (turn && this.#readOn(turn, told.request));
    if (told.type === 'wanted') {
      if (turn?.question) this.tell({ type: 'known', runId, question: questions.described(turn.question) });
      return;
    }
    questions.hearQuestion(runId, told.question);
    if (turn && !turn.question) this.#change(() => turn.learn(told.question));
    if (told.type === 'asked') void this.refresh();
  }

  #send(turn: Turn, question: Question): void {
    turn.sending();
    turn.isOwn = true;
    questions.rememberSent(this.id, turn.key, question);
    this.announce('Sent.');
    void this.#untilEnd(turn, this.#reader.ask(turn, question));
  }

  #follow(turn: Turn): void {
    void this.#untilEnd(turn, this.#reader.follow(turn));
  }

  /** The log of the run says what has become of a request, and the page has to see it. */
  #readOn(turn: Turn, request: string): void {
    if (turn.status === 'broken') this.resume(turn);
    else this.#reader.readOn(turn, request);
  }

  async #untilEnd(turn: Turn, reading: Promise<void>): Promise<void> {
    await reading;
    questions.forgetSent(this.id, turn.key);
    if (turn.runId && turn.status !== 'broken') questions.forgetQuestion(turn.runId);
    this.announce(turn.outcome);
    if (turn.isOwn) this.tell({ type: 'changed' });
    await Promise.all([this.sessions.reload(), turn.lacksQuestion ? this.refresh() : undefined]);
  }

  #admitted(turn: Turn, runId: string): void {
    const isNews = turn.runId === undefined;
    turn.admitted(runId);
    this.calls.wire.uploadAdmitted(turn.key, runId);
    if (!isNews) return;
    const question = turn.question!;
    questions.forgetSent(this.id, turn.key);
    questions.rememberQuestion(runId, question);
    this.tell({ type: 'asked', runId, question: questions.described(question) });
    void this.sessions.reload();
    if (this.#isBehind) void this.refresh();
  }

  async #refresh(): Promise<void> {
    this.#isBehind = false;
    try {
      const { active, asking, waiting } = await this.#pages.loadNew();
      this.isKept = true;
      this.fault = undefined;
      if (active !== null || asking !== null || waiting > 0) await this.#followOthers();
    } catch (error) {
      if (!(error instanceof AgentQueryError) || error.code !== 'not_found') throw error;
    }
    if (!this.#list.isSending) questions.forgetAllSent(this.id);
  }

  async #followOthers(): Promise<void> {
    const { runs } = await this.calls.client.runs({ session: this.id });
    this.#isBehind = this.#list.isSending;
    if (this.#isBehind) return;
    let at = this.#list.firstUnfinished;
    for (const { id } of runs.filter(({ endedAt }) => endedAt === null).reverse())
      at = this.#list.place(at, id, () => this.#followed(id));
  }

  #followed(runId: string): Turn {
    const turn = new Turn();
    turn.runId = runId;
    const own = questions.recallQuestion(runId, this.id);
    turn.isOwn = own !== undefined;
    turn.question = own ?? questions.recallHeard(runId);
    if (!turn.question) this.tell({ type: 'wanted', runId });
    this.#follow(turn);
    return turn;
  }

  #change(change: () => void): void {
    change();
    this.changed();
  }
}
