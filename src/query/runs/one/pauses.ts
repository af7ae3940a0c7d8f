import type { ResolvedInput } from 'nest-agent-query-client';
import type { Question } from '../../ports/agent-handler.js';
import type { Asking, InputStore, NewRequest } from '../../ports/input-store.js';
import type { RunRecord, StoredInput } from '../../ports/run-store.js';
import type { AnswerWriter } from './answer-writer.js';
import { checkpointText } from './query-context.js';
import { requestsOf } from './questions.js';
import type { LiveRun, RunnerServices } from '../runner-services.js';
import type { TimeLimit } from './time-limit.js';
import { refuseUnknown } from '../../contract/unknown-members.js';

/** Lets one run ask: writes its questions in their place in the answer, and waits until they are resolved. */
export class Pauses {
  constructor(
    private readonly services: RunnerServices,
    private readonly run: LiveRun,
    private readonly record: RunRecord,
    private readonly answer: AnswerWriter,
    private readonly timeLimit: TimeLimit,
  ) {}

  /** See `QueryContext.ask`. */
  async ask(questions: Question[], options: { checkpoint?: unknown } = {}): Promise<ResolvedInput[]> {
    refuseUnknown('context.ask', options, { checkpoint: true });
    const { handler, options: limits, schemas } = this.services;
    const state = options.checkpoint === undefined ? undefined : checkpointText(options.checkpoint);
    const survives = state !== undefined || (handler.restarts ?? 0) > 0;
    const checked = requestsOf(
      questions,
      survives ? Infinity : limits.askInMemoryMs,
      schemas.of(this.record.owner),
    );
    // Before anything is waited for: what the handler emits from now on comes behind the questions.
    const answers = this.answer.inTurn(async () => {
      const requests = await checked;
      return this.#ask({ requests, state, survives, maxAsking: limits.maxAskingPerOwner });
    });
    answers.catch(() => undefined);
    // What is wrong with a question is told at once, also while another one is open.
    await checked;
    return answers;
  }

  async #ask(asking: Asking): Promise<ResolvedInput[]> {
    const { inputs } = this.services.store;
    if (!inputs) throw new TypeError('The store of this service cannot keep questions, so runs cannot ask.');
    let known = await inputs.of(this.record);
    const isOpen = ({ id }: NewRequest) => !find(known, id)?.resolved;
    if (asking.requests.some(isOpen)) {
      await this.#pause(inputs, {
        ...asking,
        requests: asking.requests.filter(({ id }) => !find(known, id)),
      });
      known = await inputs.of(this.record);
    }
    // A copy: the handler may change what it gets.
    return asking.requests.map(({ id }) => structuredClone(find(known, id)!.resolved!));
  }

  /** Asks, and waits until the run executes again. Meanwhile no time limit and no disconnect policy counts. */
  async #pause(inputs: InputStore, asking: Asking): Promise<void> {
    const { run, record, timeLimit } = this;
    const { followers, observation, disconnects } = run;
    // Before the store has the questions: they may be answered at once.
    const told = new Map<number, string>();
    const answered = run.awaitAnswers(told);
    timeLimit.suspend();
    disconnects.suspend();
    const asked = await this.#write(inputs, asking);
    followers.goElsewhere();
    followers.notify();
    observation.asked(record, asking.requests);
    run.asked(asking.survives);
    const taken = await answered;
    observation.resumed();
    followers.goLive(taken, true, false);
    await this.#keepSince(asked, taken.lastSeq, told);
    timeLimit.resume();
    disconnects.resume(taken.detached);
  }

  /** Returns the number of the envelope that asks. */
  async #write(inputs: InputStore, asking: Asking): Promise<number> {
    try {
      const { text, seq } = await inputs.ask(this.record, asking);
      this.answer.keep(text);
      return seq;
    } catch (error) {
      this.run.notAsked();
      this.timeLimit.resume();
      this.run.disconnects.resume(false);
      throw error;
    }
  }

  /** Keeps for the turn what the store has written since the run has asked. What this process was not told of is read. */
  async #keepSince(asked: number, last: number, told: ReadonlyMap<number, string>): Promise<void> {
    if (this.record.sessionId === undefined) return;
    let seq = asked;
    while (told.has(seq + 1)) this.answer.keep(told.get(++seq)!);
    while (seq < last) {
      const { first, count, lines } = await this.services.store.read(this.record, seq);
      if (count === 0) return;
      for (const line of lines.split('\n')) this.answer.keep(line);
      seq = first + count - 1;
    }
  }
}

function find(inputs: StoredInput[], id: string): StoredInput | undefined {
  return inputs.find(({ request }) => request.id === id);
}
