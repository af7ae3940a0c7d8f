import { Module } from '@nestjs/common';
import { QueryModule, type QueryModuleOptions } from '../../src/index.js';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import { eventsOf, get, request, type Reply } from '../support/client.js';
import { type AdapterName, type Host, startHost } from '../support/host.js';

/** Starts a host with the view at `v1`. */
export function startOpenAi(
  adapter: AdapterName,
  handler: QueryModuleOptions['handler'],
  options: Partial<QueryModuleOptions> = {},
): Promise<Host> {
  const runs = { drainMs: 0, stopDeadlineMs: 100, ...options.runs };
  @Module({ imports: [QueryModule.forRoot({ ...options, runs, handler }), OpenAiModule.forRoot()] })
  class AppModule {}
  return startHost(adapter, AppModule);
}

export type Json = Record<string, unknown> & { id: string; output: Item[] };
export type Item = Record<string, unknown> & { id: string; type: string };

/** Sends a body to a path under `v1`. */
export function post(base: string, path: string, body?: object, headers: object = {}): Promise<Reply> {
  const none = body === undefined && { 'content-length': 0 };
  const options = { path: `/v1/${path}`, headers: { ...none, ...headers } };
  return request(base, options, body === undefined ? '' : JSON.stringify(body));
}

/** A response to an input. */
export async function respond(
  base: string,
  input: unknown,
  body: object = {},
  headers: object = {},
): Promise<Json> {
  return (await post(base, 'responses', { input, ...body }, headers)).json<Json>();
}

export function fetchAt(base: string, path: string, headers: object = {}): Promise<Reply> {
  return get(base, `/v1/${path}`, { ...headers });
}

/** The events of a stream. */
export function dataOf(stream: string): Record<string, unknown>[] {
  return eventsOf(stream)
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data) as Record<string, unknown>);
}

export const typesOf = (stream: string): unknown[] => dataOf(stream).map(({ type }) => type);

/** The response that the last event of a stream has. */
export const lastOf = (stream: string): Json => dataOf(stream).at(-1)!['response'] as Json;
