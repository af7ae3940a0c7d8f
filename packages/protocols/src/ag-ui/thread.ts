import {
  type AgentService,
  type InputView,
  QueryError,
  type QueryOptions,
  type RunView,
  type SessionPage,
} from 'nest-agent-query';
import {
  type Endpoint,
  EventStream,
  type HostRequest,
  invalidQuery,
  type ReceivedBody,
} from 'nest-agent-query/protocol';
import { digestOf } from '../view/json.js';
import { AgUiForm } from './ag-ui-form.js';
import { answersOf, blockingOf, requireAnswers, resultsOf } from './answers.js';
import { partsOf, type PlacedPart, textOf } from './parts.js';
import { turnsOf } from './replaced-turns.js';
import type { InputMessage, RunInput } from './run-input.js';
import type { Shown } from './run-events.js';
import { followed, refused, RUN_KEY } from './runs.js';
import { runOfUserMessage } from './user-message.js';

/** The metadata of a run in which the message of the client is. */
const MESSAGE_KEY = 'ag-ui.message';

/** No session has as many turns: a page after this number has none. */
const AFTER_ALL = 2 ** 31 - 1;

/** The messages that are a conversation. Others, such as activities, tell the agent nothing. */
const ROLES = ['user', 'assistant', 'tool'];

/** A query that is not submitted yet. */
export interface NewQuery {
  parts: PlacedPart[];
  message: string | undefined;
  options: Pick<QueryOptions, 'afterTurn' | 'earlier' | 'replaces'>;
}

/** An input of a client, in the session that is its thread. */
export class Thread {
  readonly #agent: AgentService;
  readonly #names: Shown;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly owner: string,
    private readonly input: RunInput,
    private readonly request: HostRequest,
  ) {
    this.#agent = endpoint.agent;
    const { threadId, runId, parentRunId, isBefore1 } = input;
    this.#names = { threadId, runId, parentRunId, isBefore1 };
  }

  /** @returns the query that the input is; or the stream of a run that exists, which it answers or repeats */
  async read(): Promise<NewQuery | EventStream> {
    const { messages, resume } = this.input;
    const session = await this.#session();
    const at = messages.findLastIndex(({ role }) => ROLES.includes(role));
    const { role } = messages[at] ?? {};
    if (resume.length > 0 || role === 'tool') return this.#orRunError(() => this.#answer(session));
    const inputs = session?.asking ? await this.#inputsOf(session.asking) : [];
    const blocked = await this.#orRunError(async () => requireAnswers(blockingOf(inputs)));
    if (blocked) return blocked;
    if (role !== 'user')
      throw invalidQuery([{ pointer: '/messages', detail: 'must end with a message of the user' }]);
    return this.#read(at, session !== undefined);
  }

  /** Begins a run. @param path see `QueryOptions.path` */
  async submit(
    body: ReceivedBody,
    { parts, message, options }: NewQuery,
    path: string | undefined,
  ): Promise<EventStream> {
    const { threadId, runId, kwargs } = this.input;
    const metadata = { [RUN_KEY]: runId, ...(message !== undefined && { [MESSAGE_KEY]: message }) };
    const query = { parts: parts.map(({ part }) => part), kwargs, metadata };
    const { owner, request } = this;
    const idempotencyKey = `ag-ui:${digestOf([threadId, runId])}`;
    const all = { ...options, owner, path, idempotencyKey, request };
    const stream = await this.endpoint.submit(body, query, all, (pointer) => placeOf(pointer, parts));
    const { run } = await stream.admitted;
    return new EventStream(stream, new AgUiForm(run, this.#names));
  }

  async #read(at: number, exists: boolean): Promise<NewQuery | EventStream> {
    const { messages, runId } = this.input;
    const parts = partsOf(messages[at]!, at);
    const message = markOf(messages[at]!);
    const history = messages.slice(0, at);
    if (!exists) return { parts, message, options: { earlier: earlierOf(history) } };
    const known = message === undefined ? undefined : await this.#runOf(message);
    if (known?.metadata?.[RUN_KEY] === runId) return this.#followed(known);
    // Its question is asked again.
    const replaces = known?.id ?? (await this.#loadedRun(messages[at]!));
    if (replaces !== undefined) return { parts, message, options: { replaces } };
    const afterTurn = await turnsOf(history, this.#agent, this.owner, this.input.threadId);
    return { parts, message, options: { afterTurn } };
  }

  async #answer(session: SessionPage | undefined): Promise<EventStream> {
    const { messages, resume, threadId } = this.input;
    const runId = session?.asking ?? (await this.#newest(threadId));
    const inputs = runId === undefined ? [] : await this.#inputsOf(runId);
    const entries = resume.length > 0 ? resume : resultsOf(messages, inputs);
    const [first] = entries;
    if (runId === undefined || !first)
      throw new QueryError('not_found', 'This thread has no interrupt that the input answers.');
    const answers = answersOf(entries, inputs);
    const isOpen = (wanted: string) => inputs.some(({ id, resolved }) => id === wanted && !resolved);
    const { interruptId } = entries.find((entry) => isOpen(entry.interruptId)) ?? first;
    if (answers.length > 0) await this.#agent.inputs.answer(this.owner, runId, answers, { detached: false });
    return this.#followed(await this.#agent.find(this.owner, runId), interruptId);
  }

  #followed(run: RunView, after?: string): Promise<EventStream> {
    return followed(
      this.#agent,
      this.owner,
      run,
      { ...this.#names, ...(after !== undefined && { after }) },
      this.request,
    );
  }

  /** AG-UI has an event for what breaks the rules of interrupts. */
  async #orRunError<T>(act: () => Promise<T>): Promise<T | EventStream> {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof QueryError) || error.status >= 500) throw error;
      return refused(error, this.#names);
    }
  }

  async #session(): Promise<SessionPage | undefined> {
    try {
      return await this.#agent.session(this.owner, this.input.threadId, AFTER_ALL, 1);
    } catch (error) {
      if (error instanceof QueryError && error.code === 'not_found') return undefined;
      throw error;
    }
  }

  async #inputsOf(runId: string): Promise<InputView[]> {
    return (await this.#agent.inputs.of(this.owner, runId)).inputs;
  }

  async #newest(session: string): Promise<string | undefined> {
    return (await this.#agent.runs(this.owner, { session, limit: 1 })).runs[0]?.id;
  }

  /** The run of a message that the thread has shown to a client again, if it is a turn still. */
  async #loadedRun({ id }: InputMessage): Promise<string | undefined> {
    const runId = runOfUserMessage(id);
    const isTurn =
      runId !== undefined && (await this.#agent.turn(this.owner, this.input.threadId, runId)) !== undefined;
    return isTurn ? runId : undefined;
  }

  /** The newest run of a message. */
  async #runOf(message: string): Promise<RunView | undefined> {
    const metadata = { [MESSAGE_KEY]: message };
    const session = this.input.threadId;
    return (await this.#agent.runs(this.owner, { session, metadata, limit: 1 })).runs[0];
  }
}

/** What is the same when a client sends a message again. Clients that number their messages anew send other texts. */
function markOf(message: InputMessage): string | undefined {
  return typeof message.id === 'string' ? digestOf([message.id, textOf(message)]) : undefined;
}

/** The conversation before the first query of a session. */
function earlierOf(history: readonly InputMessage[]): QueryOptions['earlier'] {
  const texts = history.flatMap((message) => {
    const { role: from } = message;
    const text = textOf(message);
    return (from === 'user' || from === 'assistant') && text !== '' ? [{ from, text } as const] : [];
  });
  return texts.length > 0 ? texts : undefined;
}

/** Where the body has what the query has at a JSON Pointer. */
function placeOf(pointer: string, parts: readonly PlacedPart[]): string {
  const [, index, member] = /^\/parts\/(\d+)(?:\/(\w+))?/.exec(pointer) ?? [];
  if (index === undefined)
    return pointer.replace(/^\/parts$/, '/messages').replace(/^\/kwargs/, '/forwardedProps');
  const place = parts[Number(index)]?.pointer ?? '/messages';
  return member === 'mimeType' ? `${place}/mimeType` : place;
}
