import type {
  DoneEnvelope,
  FileEnvelope,
  InputAnswer,
  InputRequest,
  InputRequiredEnvelope,
  InputResolvedEnvelope,
  LogEnvelope,
  MessageEnvelope,
  PlanEnvelope,
  ProgressEnvelope,
  ReasoningEnvelope,
  RestartedEnvelope,
  ResultEnvelope,
  RunEnd,
  RunFailure,
  RunStatus,
  RunView,
  SourceEnvelope,
  SuggestionsEnvelope,
  ToolCallEnvelope,
  ToolResultEnvelope,
  UsageEnvelope,
} from './wire/index.js';
import { AgentQueryError } from './agent-query-error.js';
import { type LogEntry, upTo } from './log-entries.js';
import type { LogReader } from './log-reader.js';
import { usageSum } from './usage-sum.js';

/**
 * An envelope of an answer; `type` tells which. Agents may send other types too: ignore those that you do not know.
 */
export type AnswerEnvelope =
  | MessageEnvelope
  | ReasoningEnvelope
  | ToolCallEnvelope
  | ToolResultEnvelope
  | FileEnvelope
  | SourceEnvelope
  | ResultEnvelope
  | SuggestionsEnvelope
  | PlanEnvelope
  | ProgressEnvelope
  | UsageEnvelope
  | LogEnvelope
  | InputRequiredEnvelope
  | InputResolvedEnvelope
  | RestartedEnvelope
  | DoneEnvelope;

/** An answer that has ended. `Value` is the type of the structured result, which the client does not check. */
export interface AnswerResult<Value = unknown> {
  runId: string;
  /** How the run ended. */
  status: RunStatus;
  /** Why the run failed; absent otherwise. */
  error?: RunFailure;
  /** The content of all messages. */
  text: string;
  files: FileEnvelope['data'][];
  /** The structured result; absent if the agent has given none. */
  value?: Value;
  /** The sums of what models have used; absent if the agent does not say. `model` is the last that was named. */
  usage?: UsageEnvelope['data'];
  /** The envelopes, without `done`, `restarted` and those that are void. */
  envelopes: AnswerEnvelope[];
}

/** How an answer asks the service about its run. */
export interface RunCalls {
  run(runId: string): Promise<RunView>;
  cancel(runId: string): Promise<RunView>;
  answer(runId: string, answers: readonly InputAnswer[]): Promise<RunView>;
}

/**
 * An answer while it arrives. Iterate it, or await `text()` or `result()`, or several of these: each sees all envelopes from the
 * beginning, and each envelope once. A dropped connection is resumed. Nothing is read from the connection while nobody asks for
 * more, and what was read is kept in memory.
 *
 * Whoever leaves a `for await` loop with `break` closes the connection. The service then decides what becomes of the run, as
 * with every follower that leaves. The next iteration yields again what was read, and then goes on.
 *
 * A run may ask (`input_required`). Its answer then has no end yet, and reading it waits until the run goes on, for days if it must:
 * the service ends each response after some time, and the client asks again. `requests` has what is open.
 *
 * @example
 * for await (const envelope of client.ask('What is new?')) {
 *   if (envelope.type === 'message') process.stdout.write(envelope.data.content);
 *   if (envelope.type === 'restarted') console.log('\n(The answer begins again.)');
 * }
 */
export class Answer implements AsyncIterable<AnswerEnvelope> {
  readonly #entries: LogEntry[] = [];
  #pulling: Promise<void> | undefined;
  #iterators = 0;

  /** Answers are made by the client. */
  constructor(
    private readonly log: LogReader,
    private readonly calls: RunCalls,
  ) {}

  /** The id of the run, as soon as the query is admitted. Rejects with the error of a query that is not. */
  get runId(): Promise<string> {
    return this.log.runId;
  }

  /** The number of the last envelope that was read; 0 at the beginning. To follow the run later, give it to `follow`. */
  get after(): number {
    return this.log.after;
  }

  /**
   * The requests of the run that were open at the last envelope that was read. Empty if the run does not ask. An answer of `follow`
   * does not know requests before its `after`: `inputs` of the client returns them.
   */
  get requests(): readonly InputRequest[] {
    return this.log.asked.open;
  }

  /**
   * Yields each envelope once, `restarted` and `done` included. A run that fails ends with its `done`, without an exception.
   *
   * @throws {AgentQueryError} the query was refused; no retry was left; the log was trimmed (`cursor_expired`), … ·
   * the reason of the signal
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<AnswerEnvelope, void, undefined> {
    this.#iterators += 1;
    try {
      for (let at = 0; ;) {
        while (at < this.#entries.length) yield this.#entries[at++]!.envelope as AnswerEnvelope;
        if (this.log.isEnded) return;
        await this.#pull();
      }
    } finally {
      this.#iterators -= 1;
      if (this.#iterators === 0 && !this.log.isEnded) this.log.leave();
    }
  }

  /**
   * Waits for the end of the run, also while it asks.
   *
   * @returns the content of all messages that are not void
   * @throws {AgentQueryError} as the iteration; with the code of the run if it failed; `cancelled` if it was cancelled
   */
  async text(): Promise<string> {
    const { runId, status, error, text } = await this.result();
    if (status === 'completed') return text;
    const { code, message } = error ?? { code: 'cancelled', message: 'The run was cancelled.' };
    throw new AgentQueryError(code, message, { runId });
  }

  /**
   * Waits for the end of the run, however it ends, also while it asks.
   *
   * @throws {AgentQueryError} as the iteration
   *
   * @example
   * const { value } = await client.ask('Where is this?', { files: ['photo.jpg'] }).result<{ city: string }>();
   */
  async result<Value = unknown>(): Promise<AnswerResult<Value>> {
    for await (const envelope of this) if (envelope.type === 'done') break;
    const runId = await this.log.runId;
    const last = this.#entries.at(-1)?.envelope;
    const { status, error }: Pick<RunView, 'status' | 'error'> =
      last?.type === 'done' ? (last.data as RunEnd) : await this.calls.run(runId);
    const result: AnswerResult<Value> = {
      runId,
      status,
      text: '',
      files: [],
      envelopes: [],
      ...(error && { error }),
    };
    for (const envelope of validEnvelopes(this.#entries)) {
      result.envelopes.push(envelope);
      if (envelope.type === 'message') result.text += envelope.data.content;
      if (envelope.type === 'file') result.files.push(envelope.data);
      if (envelope.type === 'result') result.value = envelope.data.value as Value;
      if (envelope.type === 'usage') result.usage = usageSum(result.usage, envelope.data);
    }
    return result;
  }

  /**
   * Cancels the run. The answer then ends with `done` `cancelled`. A query that is still being sent is given up: the answer then
   * fails with `cancelled`.
   *
   * @returns the run as it is now; `undefined` if there is none
   * @throws {AgentQueryError} the service refuses, or cannot be reached
   */
  async cancel(): Promise<RunView | undefined> {
    if (this.log.withdraw()) return undefined;
    const runId = await this.log.runId.catch(() => undefined);
    return runId ? this.calls.cancel(runId) : undefined;
  }

  /**
   * Answers requests of the run, as `answer` of the client does; what reads this answer goes on at once.
   *
   * @example
   * for await (const { type } of answer)
   *   if (type === 'input_required') await answer.respond(await ask(answer.requests));
   */
  async respond(answers: readonly InputAnswer[]): Promise<RunView> {
    try {
      return await this.calls.answer(await this.log.runId, answers);
    } finally {
      // Also if somebody else was first.
      this.log.hurry();
    }
  }

  /** Reads one more entry. All iterators wait for the same. */
  #pull(): Promise<void> {
    this.#pulling ??= this.log
      .next()
      .then((entry) => void (entry && this.#entries.push(entry)))
      .finally(() => (this.#pulling = undefined));
    return this.#pulling;
  }
}

function validEnvelopes(entries: readonly LogEntry[]): AnswerEnvelope[] {
  let valid: LogEntry[] = [];
  for (const entry of entries) {
    const { type, data } = entry.envelope;
    if (type === 'restarted') valid = upTo(valid, (data as RestartedEnvelope['data']).from);
    else if (type !== 'done') valid.push(entry);
  }
  return valid.map(({ envelope }) => envelope as AnswerEnvelope);
}
