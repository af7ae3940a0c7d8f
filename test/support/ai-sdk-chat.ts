import type { DynamicModule } from '@nestjs/common';
import { AiSdkModule, type AiSdkOptions } from 'nest-agent-query-protocols/ai-sdk';
import { QueryModule, type QueryModuleOptions } from '../../src/index.js';
import { eventsOf, get, type Reply, request, type RequestOptions } from './client.js';
import { type AdapterName, type Configure, type Host, startHost } from './host.js';

/** A message of the AI SDK. */
export interface UiMessage {
  id?: string;
  role: string;
  parts: object[];
}

/** What a client sends besides its messages. */
export interface ChatOptions extends RequestOptions {
  /** Default `c1`; null for none. */
  id?: string | null;
  trigger?: string;
  messageId?: string | undefined;
  kwargs?: unknown;
  /** Further members of the body. */
  more?: object;
}

/** Starts a host with a handler and chats of the AI SDK. When it is closed, it does not wait for its runs. */
export function startChats(
  adapter: AdapterName,
  handler: QueryModuleOptions['handler'],
  options: Partial<QueryModuleOptions> = {},
  view: AiSdkOptions = {},
  configure?: Configure,
): Promise<Host> {
  const runs = { drainMs: 0, stopDeadlineMs: 100, ...options.runs };
  const owner = (asked: { headers: Record<string, string> }) => asked.headers['x-caller'];
  const imports = [QueryModule.forRoot({ owner, ...options, runs, handler }), AiSdkModule.forRoot(view)];
  return startHost(adapter, { module: class {}, imports } as DynamicModule, configure);
}

export const user = (text: string, id = `u-${text}`): UiMessage => {
  return { id, role: 'user', parts: [{ type: 'text', text }] };
};

export const assistant = (runId: string, ...parts: object[]): UiMessage => {
  return { id: `msg_${runId}`, role: 'assistant', parts };
};

/** Sends messages as `DefaultChatTransport` does. */
export function sendChat(base: string, messages: UiMessage[], options: ChatOptions = {}): Promise<Reply> {
  const {
    id = 'c1',
    trigger = 'submit-message',
    messageId,
    kwargs,
    more,
    path = '/ai/chat',
    ...rest
  } = options;
  const body = { ...more, ...(id !== null && { id }), messages, trigger, messageId, kwargs };
  return request(base, { path, ...rest }, JSON.stringify(body));
}

/** Reads the stream of a chat or of a run again. */
export function streamOf(base: string, id: string, startIndex?: number, headers = {}): Promise<Reply> {
  const query = startIndex === undefined ? '' : `?startIndex=${startIndex}`;
  return get(base, `/ai/chat/${id}/stream${query}`, headers);
}

/** The id of the run whose leg a response shows. */
export function runOf(reply: Reply): string {
  return String(reply.headers['x-workflow-run-id']).split('.')[0]!;
}

/** The data of the events of a stream, with `<run>` in the place of the id of a run. */
export function chunksOf(stream: string, runId = ''): string[] {
  return eventsOf(stream).map(({ data }) => (runId === '' ? data : data.replaceAll(runId, '<run>')));
}

/** The text of an answer. */
export function textOf(stream: string): string {
  const deltas = chunksOf(stream).filter((data) => data.startsWith('{"type":"text-delta"'));
  return deltas.map((data) => (JSON.parse(data) as { delta: string }).delta).join('');
}
