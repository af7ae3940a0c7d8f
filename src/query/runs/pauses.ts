import type { ResolvedInput } from 'nest-agent-query-client';
import type { Question } from '../ports/agent-handler.js';
import type { StoredInput } from '../ports/run-store.js';
import type { RunRecord } from '../ports/run-store.js';
import type { AnswerWriter } from './answer-writer.js';
import { checkpointText } from './query-context.js';
import { requestsOf } from './questions.js';
import type { LiveRun, RunnerServices } from './runner-services.js';

/** Lets one run ask: writes its questions in their place in the answer, and waits until they are resolved. */
export class Pauses {
  constructor(
    private readonly services: RunnerServices,
    private readonly run: LiveRun,
    private readonly record: RunRecord,
    private readonly answer: AnswerWriter,
  ) {}

  /** See `QueryContext.ask`. */
  async ask(questions: Question[], options: { checkpoint?: unknown } = {}): Promise<ResolvedInput[]> {
    const { handler, options: limits } = this.services;
    const state = options.checkpoint === undefined ? undefined : checkpointText(options.checkpoint);
    const survives = state !== undefined || (handler.restarts ?? 0) > 0;
    const requests = await requestsOf(questions, survives ? Infinity : limits.askInMemoryMs);
    const asking = { requests, state, survives, maxAsking: limits.maxAskingPerOwner };
    return this.answer.inTurn(() => this.#ask(asking));
  }

  async #ask(
    asking: Parameters<NonNullable<RunnerServices['store']['inputs']>['ask']>[1],
  ): Promise<ResolvedInput[]> {
    const { inputs } = this.services.store;
    if (!inputs) throw new TypeError('The store of this service cannot keep questions, so runs cannot ask.');
    let known = await inputs.of(this.record);
    const unknown = asking.requests.filter(({ id }) => !find(known, id));
    if (unknown.length > 0) {
      await this.run.pause(unknown, async () => {
        const { text, seq } = await inputs.ask(this.record, { ...asking, requests: unknown });
        this.answer.keep(text);
        return seq;
      });
      known = await inputs.of(this.record);
    }
    return asking.requests.map(({ id }) => find(known, id)!.resolved!);
  }
}

function find(inputs: StoredInput[], id: string): StoredInput | undefined {
  return inputs.find(({ request }) => request.id === id);
}
