import { eventsOf, type Reply, request } from '../support/client.js';
import type { Json } from './a2a-host.js';

/** What JSON-RPC of A2A 0.3 answers. */
export interface Answer<T = Task> {
  id: unknown;
  result?: T;
  error?: { code: number; message: string; data: Json };
}

interface Part {
  kind: 'text' | 'file' | 'data';
  text?: string;
  file?: Json;
  data?: Json;
  metadata?: Json;
}

interface Message extends Json {
  kind: 'message';
  role: 'user' | 'agent';
  parts: Part[];
}

interface Status {
  state: string;
  message?: Message;
  timestamp?: string;
}

interface Artifact extends Json {
  artifactId: string;
  parts: Part[];
}

/** A task of A2A 0.3, or an event of its stream. */
export interface Task {
  kind: 'task' | 'status-update' | 'artifact-update';
  id: string;
  contextId: string;
  status: Status;
  artifacts?: Artifact[];
  history?: Message[];
  metadata?: Json;
}

export interface Event extends Partial<Task> {
  final?: boolean;
  artifact?: Artifact;
  append?: boolean;
  lastChunk?: boolean;
}

/** Calls a method as clients of 0.3 do: without the header `A2A-Version`. */
export function call(base: string, method: string, params?: Json, headers = {}): Promise<Reply> {
  return request(base, { path: '/a2a', headers }, JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }));
}

export async function answered<T = Task>(reply: Promise<Reply>): Promise<Answer<T>> {
  return (await reply).json<Answer<T>>();
}

/** The result of a method. */
export async function result<T = Task>(base: string, method: string, params?: Json): Promise<T> {
  const { result: found, error } = await answered<T>(call(base, method, params));
  if (error) throw new Error(`The method failed: ${JSON.stringify(error)}`);
  return found!;
}

/** The code and the sentence of a refusal, and what is wrong with which members. */
export async function refusal(base: string, method: string, params?: Json, headers = {}) {
  const { error } = await answered(call(base, method, params, headers));
  const { fieldViolations = [] } = error!.data as { fieldViolations?: Json[] };
  const fields = fieldViolations.map(({ field, description }) => `${String(field)} ${String(description)}`);
  return { code: error!.code, reason: error!.data['reason'], message: error!.message, fields };
}

let messages = 0;

/** A message of a client, with an id of its own. */
export function messageOf(text: string, more: Json = {}): Json {
  const parts = [{ kind: 'text', text }];
  return { kind: 'message', messageId: `message-${++messages}`, role: 'user', parts, ...more };
}

/** The parameters of a message. */
export const sending = (text: string, more: Json = {}, configuration?: Json) => ({
  message: messageOf(text, more),
  ...(configuration && { configuration }),
});

/** The events of a stream: what their responses of JSON-RPC have as a result, or as an error. */
export function streamEventsOf(text: string): Event[] {
  return eventsOf(text).map(({ data }) => {
    const { result: event, error } = JSON.parse(data) as Answer<Event>;
    return event ?? (error as unknown as Event);
  });
}

/** Of each event: its kind, and the state or the text that it has; and whether it is the last one. */
export function briefly(text: string): string[] {
  return streamEventsOf(text).map(({ kind, status, artifact, final, lastChunk }) => {
    if (artifact) return `artifact ${textOfParts(artifact.parts)}${lastChunk ? ' (last)' : ''}`;
    return `${kind === 'task' ? 'task' : 'status'} ${status!.state}${final ? ' (final)' : ''}`;
  });
}

const textOfParts = (parts: Part[]) => parts.map(({ text = '' }) => text).join('');

/** The texts of the artifacts of a task. */
export const textsOf = ({ artifacts = [] }: Task) => artifacts.map(({ parts }) => textOfParts(parts));
