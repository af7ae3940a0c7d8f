import { AgentCard, type Message, type StreamResponse, type Task } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  JsonRpcTransportFactory,
  type RequestOptions,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import type { RemoteSettings } from 'nest-agent-query/agents/remote';
import { AgentQueryError } from 'nest-agent-query-client';
import { connectionLost } from 'nest-agent-query-client/streams';
import { notUsable, refusalOf } from './failures.js';
import { remoteFetch } from './remote-fetch.js';

/** How long a card is used until it is read again. */
const CARD_MS = 5 * 60_000;

/** The headers of a run, and what ends a call. */
export interface CallOptions {
  headers: Record<string, string>;
  signal: AbortSignal;
}

/** What the agent sends in one response. Whoever does not read it to its end calls `return`. */
export interface Events {
  next(): Promise<IteratorResult<StreamResponse, void>>;
  return(): Promise<unknown>;
}

/** How many of the newest tasks of a context are looked at. */
const FOUND_AMONG = 10;

/** The agent: its calls. Each throws `AgentQueryError` where HTTP fails, `A2AError` where the agent refuses, and any error otherwise. */
export class A2aAgent {
  readonly #fetch: typeof fetch;
  #read: { client: Client; isStreaming: boolean; at: number } | undefined;

  constructor(readonly settings: RemoteSettings) {
    this.#fetch = remoteFetch(settings);
  }

  /** Reads the agent card, unless it was read a short time ago. */
  async connect({ headers, signal }: CallOptions): Promise<void> {
    if (this.#read && performance.now() - this.#read.at < CARD_MS) return;
    const response = await this.#fetch(this.settings.url, {
      headers: { ...headers, 'A2A-Version': '1.0' },
      signal,
    });
    const card = cardOf(await response.text(), this.settings.url);
    const fetchImpl = this.#fetch;
    const transports = [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })];
    const client = await new ClientFactory({ transports }).createFromAgentCard(card);
    this.#read = { client, isStreaming: card.capabilities?.streaming === true, at: performance.now() };
  }

  /** Sends a message. What becomes of it comes as it happens, or as the task is at first. */
  async send(message: Message, options: CallOptions): Promise<Events> {
    const { client, isStreaming } = this.#connected;
    const configuration = {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      // The history has the files of the query.
      historyLength: 0,
      returnImmediately: !isStreaming,
    };
    const request = { tenant: '', message, configuration, metadata: undefined };
    if (isStreaming) return begun(client.sendMessageStream(request, requestOf(options)));
    const answer = await client.sendMessage(request, requestOf(options));
    if ('messageId' in answer) return once({ payload: { $case: 'message', value: answer } }) as Events;
    return once({ payload: { $case: 'task', value: answer } }) as Events;
  }

  /** Follows a task: first the task as it is, then what becomes of it. Of a task that has ended, or that cannot be followed, that is all. */
  async follow(id: string, options: CallOptions): Promise<Events> {
    const { client, isStreaming } = this.#connected;
    try {
      if (isStreaming) {
        const events = await begun(client.resubscribeTask({ tenant: '', id }, requestOf(options)));
        if (events.first.payload?.$case === 'task') return events;
        // What came before is not known.
        await events.return();
      }
    } catch (error) {
      // The task may be too long for an event: it has all that the client has sent.
      const reason = refusalOf(error)?.reason ?? 'UNSUPPORTED_OPERATION';
      if (error instanceof AgentQueryError || reason !== 'UNSUPPORTED_OPERATION') throw error;
    }
    return once({ payload: { $case: 'task', value: await this.get(id, options, 0) } }) as Events;
  }

  /** @param historyLength how many of its messages the task has. Default: all */
  get(id: string, options: CallOptions, historyLength?: number): Promise<Task> {
    return this.#connected.client.getTask({ tenant: '', id, historyLength }, requestOf(options));
  }

  /** Finds the task that a message has begun. Undefined if the agent names none. */
  async find(contextId: string, messageId: string, options: CallOptions): Promise<Task | undefined> {
    const request = {
      tenant: '',
      contextId,
      status: 0,
      pageSize: FOUND_AMONG,
      pageToken: '',
      historyLength: 1_000,
      statusTimestampAfter: undefined,
      includeArtifacts: false,
    };
    const { tasks } = await this.#connected.client.listTasks(request, requestOf(options));
    return tasks.find((task) => task.contextId === contextId && hasMessage(task, messageId));
  }

  async cancel(id: string, options: CallOptions): Promise<void> {
    await this.#connected.client.cancelTask({ tenant: '', id, metadata: undefined }, requestOf(options));
  }

  get #connected() {
    if (!this.#read) throw new Error('The agent card is not read yet.');
    return this.#read;
  }
}

/** Whether the history of a task has a message. */
export function hasMessage({ history }: Task, messageId: string): boolean {
  return history.some((each) => each.messageId === messageId);
}

function requestOf({ headers, signal }: CallOptions): RequestOptions {
  return { serviceParameters: headers, signal };
}

/** The parts of a card that are used: how the agent is reached at the origin of the card. */
function cardOf(text: string, url: URL): AgentCard {
  let card: AgentCard;
  try {
    card = AgentCard.fromJSON(JSON.parse(text));
  } catch (error) {
    throw notUsable('The agent card cannot be read.', error);
  }
  const { supportedInterfaces, capabilities } = card;
  const usable = supportedInterfaces.filter(
    ({ url: to, protocolBinding, protocolVersion }) =>
      /^(?:JSONRPC|HTTP\+JSON)$/i.test(protocolBinding) &&
      /^1\b/.test(protocolVersion) &&
      URL.canParse(to) &&
      new URL(to).origin === url.origin,
  );
  if (usable.length === 0) {
    const why =
      'The agent card names no interface of A2A 1.0 over JSON-RPC or HTTP+JSON at the origin of the card. Credentials are for no ' +
      'other: the URL must be that of a card at the origin of the agent.';
    throw notUsable(why);
  }
  return { ...AgentCard.fromJSON({}), supportedInterfaces: usable, capabilities };
}

/** Waits for the first event of a stream: before, the request may fail. A stream without one was cut. */
async function begun(events: Events): Promise<Events & { first: StreamResponse }> {
  const result = await events.next();
  if (result.done) throw connectionLost('The stream has ended before its first event.');
  let pending: typeof result | undefined = result;
  const next = async () => {
    const taken = pending;
    pending = undefined;
    return taken ?? events.next();
  };
  return { first: result.value, next, return: () => events.return() };
}

async function* once(event: StreamResponse): AsyncGenerator<StreamResponse, void> {
  yield event;
}
