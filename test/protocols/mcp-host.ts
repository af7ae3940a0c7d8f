import { Module } from '@nestjs/common';
import { McpModule, type McpOptions } from 'nest-agent-query-mcp';
import { QueryModule, type QueryModuleOptions } from '../../src/index.js';
import { eventsOf, type Reply, request } from '../support/client.js';
import { type AdapterName, type Host, startHost } from '../support/host.js';

export const TASKS = 'io.modelcontextprotocol/tasks';

/** A client that can ask a person, and one that knows tasks besides. */
export const ASKING = { elicitation: { form: {}, url: {} } };
export const WITH_TASKS = { ...ASKING, extensions: { [TASKS]: {} } };

/** Starts a host with the server at `mcp`. */
export function startMcp(
  adapter: AdapterName,
  handler: QueryModuleOptions['handler'],
  options: Partial<QueryModuleOptions> = {},
  mcp: McpOptions = {},
): Promise<Host> {
  const runs = { drainMs: 0, stopDeadlineMs: 100, ...options.runs };
  @Module({ imports: [QueryModule.forRoot({ ...options, runs, handler }), McpModule.forRoot(mcp)] })
  class AppModule {}
  return startHost(adapter, AppModule);
}

export type Json = Record<string, unknown>;

export interface Asked {
  capabilities?: object;
  headers?: Record<string, string>;
  meta?: object;
  path?: string;
}

let newest = 0;

/** Sends a request of the version 2026-07-28. */
export async function send(
  base: string,
  method: string,
  params: Json = {},
  asked: Asked = {},
): Promise<Reply> {
  const { capabilities = {}, headers = {}, meta = {}, path = '/mcp' } = asked;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...meta,
  };
  const name = (params['name'] ?? params['taskId']) as string | undefined;
  const all = {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
    ...headers,
  };
  const body = { jsonrpc: '2.0', id: ++newest, method, params: { ...params, _meta } };
  return request(base, { path, headers: all }, JSON.stringify(body));
}

/** Sends a message of the version 2025-11-25. */
export async function sendLegacy(base: string, message: Json, headers: object = {}): Promise<Reply> {
  const all = {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
    ...headers,
  };
  return request(base, { path: '/mcp', headers: all }, JSON.stringify({ jsonrpc: '2.0', ...message }));
}

/** The messages of a response: one as JSON, or those of a stream. */
export async function messagesOf(reply: Reply): Promise<Json[]> {
  const text = await reply.whole();
  if (!reply.headers['content-type']?.startsWith('text/event-stream')) return [JSON.parse(text) as Json];
  return toldIn(text);
}

/** The messages in a stream. An event without data is none: it has the id after which the stream can be resumed. */
export function toldIn(text: Parameters<typeof eventsOf>[0]): Json[] {
  return eventsOf(text).flatMap(({ data }) => (data === '' ? [] : [JSON.parse(data) as Json]));
}

/** The result, or the error, that a response ends with. */
export async function resultOf(reply: Reply): Promise<Json> {
  const { result, error } = (await messagesOf(reply)).at(-1)!;
  return (result ?? { error }) as Json;
}

/** Calls the tool `query` in the version 2026-07-28. */
export async function call(base: string, given: unknown, asked: Asked = {}, more: Json = {}): Promise<Json> {
  return resultOf(await send(base, 'tools/call', { name: 'query', arguments: given, ...more }, asked));
}

/** Begins a session of the version 2025-11-25. @returns the headers of its requests */
export async function initialize(base: string, capabilities: object = {}): Promise<Record<string, string>> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities,
    clientInfo: { name: 'test', version: '1.0.0' },
  };
  const reply = await sendLegacy(base, { id: 0, method: 'initialize', params });
  await reply.whole();
  return { 'mcp-session-id': reply.headers['mcp-session-id'] as string };
}
