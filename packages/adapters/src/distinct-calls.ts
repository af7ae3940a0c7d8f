import type { Envelope, QueryContext, Question } from 'nest-agent-query';
import { callId } from './names.js';

/** So many calls of a run are known in its next attempt: a checkpoint has a limit. */
const KEPT_CALLS = 1_000;

/** A call that callers know. */
interface ToldCall {
  /** As the framework has it. */
  id: string;
  /** As callers have it. */
  shown: string;
  isOpen: boolean;
}

/** What the state of a checkpoint has beside the members of the adapter. */
interface KeptCalls {
  distinctCalls?: ToldCall[];
}

/**
 * Gives calls other ids where the session has had theirs: some models count their calls from the beginning in each step, and clients
 * take equal ids for one call. The results of these calls, and the questions about them, get the same ids.
 *
 * @param context the run. What `answer` gets instead of it has the same members. The states of its checkpoints are objects
 * @param answer makes the envelopes of the run, with the ids of the framework
 *
 * @example
 * handle(query, context) {
 *   return distinctCalls(context, (run) => new MyRun(query, run).envelopes());
 * }
 */
export async function* distinctCalls(
  context: QueryContext,
  answer: (context: QueryContext) => AsyncIterable<Envelope>,
): AsyncGenerator<Envelope> {
  const calls = new DistinctCalls(context);
  for await (const envelope of answer(calls.context)) yield calls.shown(envelope);
}

/**
 * What `distinctCalls` does, for adapters that hand over their envelopes in batches.
 *
 * @example
 * const calls = new DistinctCalls(context);
 * for await (const batch of answer(calls.context)) for (const envelope of batch) yield calls.shown(envelope);
 */
export class DistinctCalls {
  /** The run, for what makes the envelopes. */
  readonly context: QueryContext;
  readonly #told: ToldCall[] = [];
  readonly #had = new Set<string>();

  constructor(private readonly given: QueryContext) {
    for (const { envelopes } of given.history)
      for (const { type, data } of envelopes) if (type === 'tool_call') this.#had.add(idIn(data));
    const { distinctCalls: told = [], ...state } = (given.resumed?.state ?? {}) as KeptCalls;
    this.#told.push(...told);
    for (const { shown } of this.#told) this.#had.add(shown);
    this.context = {
      ...given,
      resumed: given.resumed?.state === undefined ? given.resumed : { ...given.resumed, state },
      get signal() {
        return given.signal;
      },
      checkpoint: (state) => given.checkpoint(this.#kept(state)),
      ask: (questions, options = {}) => {
        const { checkpoint } = options;
        const kept = checkpoint === undefined ? options : { ...options, checkpoint: this.#kept(checkpoint) };
        return given.ask(
          questions.map((question) => this.#asked(question)),
          kept,
        );
      },
    };
  }

  /** The envelope with the ids that callers have. */
  shown(envelope: Envelope): Envelope {
    if (envelope.type === 'tool_call') return withId(envelope, this.#begin(idIn(envelope.data)));
    if (envelope.type === 'tool_result') return withId(envelope, this.#end(idIn(envelope.data)));
    return envelope;
  }

  #begin(id: string): string {
    const { runId, resumed } = this.given;
    const place = `${resumed?.attempt ?? 1}:${this.#told.length}`;
    const shown = this.#had.has(id) ? callId(runId, `${place}:${id}`) : id;
    this.#had.add(shown);
    this.#told.push({ id, shown, isOpen: true });
    return shown;
  }

  #end(id: string): string {
    const call =
      this.#told.find((each) => each.id === id && each.isOpen) ??
      this.#told.findLast((each) => each.id === id);
    if (!call) return id;
    call.isOpen = false;
    return call.shown;
  }

  #asked(question: Question): Question {
    const call = this.#told.findLast(({ id }) => id === question.toolCallId);
    return call ? { ...question, toolCallId: call.shown } : question;
  }

  #kept(state: unknown): unknown {
    if (this.#told.length === 0) return state;
    const kept: KeptCalls = { distinctCalls: this.#told.slice(-KEPT_CALLS) };
    return { ...(state as object), ...kept };
  }
}

function idIn(data: unknown): string {
  return (data as { id: string }).id;
}

function withId(envelope: Envelope, id: string): Envelope {
  return idIn(envelope.data) === id ? envelope : { ...envelope, data: { ...(envelope.data as object), id } };
}
