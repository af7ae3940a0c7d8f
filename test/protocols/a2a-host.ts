import { Module } from '@nestjs/common';
import { A2aModule, type A2aModuleOptions } from 'nest-agent-query-protocols/a2a';
import {
  type HandlerFunction,
  message,
  type Query,
  QueryModule,
  type QueryModuleOptions,
} from '../../src/index.js';
import { eventsOf, type Reply, request } from '../support/client.js';
import { type AdapterName, type Host, startHost } from '../support/host.js';

export type Json = Record<string, unknown>;

/** The extension by which streams are resumed. */
export const CURSORS = 'urn:nest-agent-query:cursor:v1';

const VERSION = { 'a2a-version': '1.0' };

/** Starts a host with the view at `a2a`. */
export function startA2a(
  adapter: AdapterName,
  handler: QueryModuleOptions['handler'],
  options: Partial<QueryModuleOptions> = {},
  view: A2aModuleOptions = {},
): Promise<Host> {
  const runs = { drainMs: 0, stopDeadlineMs: 100, ...options.runs };
  @Module({ imports: [QueryModule.forRoot({ ...options, runs, handler }), A2aModule.forRoot(view)] })
  class AppModule {}
  return startHost(adapter, AppModule);
}

/** The first text of a query. */
export const textOf = ({ parts }: Query) =>
  parts.flatMap((part) => ('text' in part ? [part.text] : []))[0] ?? '';

/** Answers with what it was told. */
export const echo: HandlerFunction = async function* (query) {
  yield message(textOf(query));
};

export interface ErrorDetail {
  '@type': string;
  reason?: string;
  domain?: string;
  fieldViolations?: { field: string; description: string }[];
}

/** What an operation answers: its result, or its error. */
export interface Answer {
  result?: Json;
  error?: { code: number; message: string; details: ErrorDetail[] };
}

/** A binding of the protocol, for tests of what all of them have. */
export interface Binding {
  name: string;
  /** @param method as JSON-RPC names it */
  call: (base: string, method: string, params?: Json, headers?: object) => Promise<Reply>;
  read: (reply: Reply) => Promise<Answer>;
}

/** JSON-RPC with an id that tells its responses. */
export const jsonRpc: Binding = {
  name: 'JSON-RPC',
  call: (base, method, params, headers = {}) =>
    request(
      base,
      { path: '/a2a', headers: { ...VERSION, ...headers } },
      JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
    ),
  read: async (reply) => {
    type Error = { code: number; message: string; data: ErrorDetail[] };
    const { result, error } = await reply.json<{ result?: Json; error?: Error }>();
    const { code = 0, message: sentence = '', data = [] } = error ?? {};
    return error ? { error: { code, message: sentence, details: data } } : { result: result! };
  },
};

const ids = ({ id }: Json) => encodeURIComponent(String(id));
const query = (params: Json) => new URLSearchParams(params as never).toString();

/** The method and the path of each operation, and its body. */
const PATHS: Record<string, (params: Json) => [method: string, path: string, body?: Json]> = {
  SendMessage: (params) => ['POST', 'message:send', params],
  SendStreamingMessage: (params) => ['POST', 'message:stream', params],
  GetTask: ({ id, ...params }) => ['GET', `tasks/${ids({ id })}?${query(params)}`],
  ListTasks: (params) => ['GET', `tasks?${query(params)}`],
  CancelTask: (params) => ['POST', `tasks/${ids(params)}:cancel`],
  SubscribeToTask: (params) => ['POST', `tasks/${ids(params)}:subscribe`],
  CreateTaskPushNotificationConfig: () => [
    'POST',
    'tasks/x/pushNotificationConfigs',
    { url: 'https://a.example/' },
  ],
  ListTaskPushNotificationConfigs: () => ['GET', 'tasks/x/pushNotificationConfigs'],
  GetTaskPushNotificationConfig: () => ['GET', 'tasks/x/pushNotificationConfigs/1'],
  DeleteTaskPushNotificationConfig: () => ['DELETE', 'tasks/x/pushNotificationConfigs/1'],
  GetExtendedAgentCard: () => ['GET', 'extendedAgentCard'],
};

/** Sends a request below `/a2a`. */
export function send(
  base: string,
  method: string,
  path: string,
  body?: Json,
  headers: object = {},
): Promise<Reply> {
  const none = body === undefined && { 'content-length': 0 };
  const type = body !== undefined && { 'content-type': 'application/a2a+json' };
  const all = { ...none, ...type, ...VERSION, ...headers };
  return request(
    base,
    { method, path: `/a2a/${path}`, headers: all },
    body === undefined ? '' : JSON.stringify(body),
  );
}

export const rest: Binding = {
  name: 'HTTP+JSON',
  call: (base, method, params = {}, headers) => {
    const [verb, path, body] = PATHS[method]!(params);
    return send(base, verb, path, body, headers);
  },
  read: async (reply) => {
    const answer = await reply.json<Answer>();
    return answer.error ? answer : { result: answer as Json };
  },
};

export const BINDINGS = [jsonRpc, rest];

let messages = 0;

/** A message of a client, with an id of its own. */
export function messageOf(text: string, more: Json = {}): Json {
  return { messageId: `message-${++messages}`, role: 'ROLE_USER', parts: [{ text }], ...more };
}

export interface Part {
  text?: string;
  data?: unknown;
  url?: string;
  filename?: string;
  mediaType?: string;
}

export interface TaskJson {
  id: string;
  contextId: string;
  status: { state: string; timestamp?: string; message?: { parts: Part[]; metadata?: Json } };
  artifacts?: { artifactId: string; name?: string; parts: Part[] }[];
  history?: { messageId: string; role: string; parts: Part[] }[];
  metadata?: Json;
}

export interface StreamEvent {
  task?: TaskJson;
  statusUpdate?: { status: TaskJson['status']; metadata?: Json };
  artifactUpdate?: {
    artifact: { artifactId: string; parts: Part[] };
    append?: boolean;
    metadata?: Json;
  };
}

/** A client of one binding. */
export class Client {
  constructor(
    readonly base: string,
    private readonly binding: Binding,
    private readonly headers: object = {},
  ) {}

  call(method: string, params?: Json, headers: object = {}): Promise<Reply> {
    return this.binding.call(this.base, method, params, { ...this.headers, ...headers });
  }

  /** The result of an operation. */
  async result<T = Json>(method: string, params?: Json): Promise<T> {
    const { result, error } = await this.binding.read(await this.call(method, params));
    if (error) throw new Error(`The operation failed: ${JSON.stringify(error)}`);
    return result as T;
  }

  /** The reason and the sentence of the error of an operation, and what is wrong with which members. */
  async error(method: string, params?: Json, headers: object = {}) {
    const { error } = await this.binding.read(await this.call(method, params, headers));
    const { details = [], message: sentence } = error ?? {};
    const fields = details.flatMap(({ fieldViolations = [] }) => fieldViolations);
    return {
      reason: details[0]?.reason,
      domain: details[0]?.domain,
      message: sentence,
      fields: fields.map(({ field, description }) => `${field} ${description}`),
    };
  }

  /** Sends a text, and waits for the task. */
  async send(text: string, more: Json = {}, params: Json = {}): Promise<TaskJson> {
    const { task } = await this.result<{ task: TaskJson }>('SendMessage', {
      message: messageOf(text, more),
      ...params,
    });
    return task;
  }

  stream(text: string, more: Json = {}, headers: object = {}): Promise<Reply> {
    return this.call('SendStreamingMessage', { message: messageOf(text, more) }, headers);
  }

  get(id: string, params: Json = {}): Promise<TaskJson> {
    return this.result<TaskJson>('GetTask', { id, ...params });
  }

  subscribe(id: string, headers: object = {}): Promise<Reply> {
    return this.call('SubscribeToTask', { id }, headers);
  }
}

/** The events of a stream, of both bindings. */
export function streamEventsOf(text: string): StreamEvent[] {
  return eventsOf(text).map(({ data }) => {
    const event = JSON.parse(data) as StreamEvent & { result?: StreamEvent };
    return event.result ?? event;
  });
}

/** Of each event: its kind, and the state or the text that it has. */
export function briefly(text: string): string[] {
  return streamEventsOf(text).map(({ task, statusUpdate, artifactUpdate }) => {
    if (task) return `task ${task.status.state.slice(11)}`;
    if (statusUpdate) return `status ${statusUpdate.status.state.slice(11)}`;
    return `artifact ${textOfParts(artifactUpdate!.artifact.parts)}`;
  });
}

const textOfParts = (parts: Part[]) => parts.map(({ text = '' }) => text).join('');

/** The texts of the artifacts of a task. */
export const textsOf = ({ artifacts = [] }: TaskJson) => artifacts.map(({ parts }) => textOfParts(parts));
