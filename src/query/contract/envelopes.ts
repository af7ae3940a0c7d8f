import type {
  DoneEnvelope,
  EmittedContent,
  EmittedFileEnvelope,
  LogEnvelope,
  MessageEnvelope,
  ProgressEnvelope,
  ReasoningEnvelope,
  RestartedEnvelope,
  ResultEnvelope,
  RunEnd,
  SourceEnvelope,
  Suggestion,
  SuggestionsEnvelope,
  ToolCallEnvelope,
  ToolResultEnvelope,
  UsageEnvelope,
} from 'nest-agent-query-client';
import { refuseUnknown } from './unknown-members.js';

interface ChunkOptions {
  id?: string | undefined;
}

const CHUNK_OPTIONS: Record<keyof ChunkOptions, true> = { id: true };

/**
 * Makes an envelope that carries a part of the agent's response text.
 *
 * @param options `id` tells messages apart: neighbouring parts with the same id are one message. Default: no id
 * @throws {TypeError} an option is unknown
 *
 * @example
 * yield message('The capital of France is ');
 * yield message('Paris.');
 */
export function message(content: string): MessageEnvelope;
export function message(content: string, options: ChunkOptions): MessageEnvelope;
// `texts.map(message)` has to remain possible: with one signature, the index is an argument of another type.
export function message(content: string, options?: ChunkOptions): MessageEnvelope {
  refuseUnknown('message', options, CHUNK_OPTIONS);
  return { type: 'message', data: chunk(content, options?.id) };
}

/**
 * Makes an envelope that carries a part of the reasoning that the model shows.
 *
 * @param options `id` tells pieces of reasoning apart, as that of `message`
 * @throws {TypeError} an option is unknown
 *
 * @example
 * yield reasoning('The user asks for a capital.');
 */
export function reasoning(content: string): ReasoningEnvelope;
export function reasoning(content: string, options: ChunkOptions): ReasoningEnvelope;
export function reasoning(content: string, options?: ChunkOptions): ReasoningEnvelope {
  refuseUnknown('reasoning', options, CHUNK_OPTIONS);
  return { type: 'reasoning', data: chunk(content, options?.id) };
}

/**
 * Makes an envelope that says that the agent calls a tool.
 *
 * @param id names the call, and its result
 * @param args any value that JSON can represent. Default: an empty object
 *
 * @example
 * yield toolCall('call-1', 'weather', { city: 'Paris' });
 */
export function toolCall(id: string, name: string, args: unknown = {}): ToolCallEnvelope {
  return { type: 'tool_call', data: { id, name, arguments: args } };
}

/**
 * Makes an envelope that carries what a tool has returned.
 *
 * @param id names the call
 * @param content the result, any value that JSON can represent
 * @param options `isError` says whether the call has failed. Default: it is left out
 * @throws {TypeError} an option is unknown
 *
 * @example
 * yield toolResult('call-1', { celsius: 21 });
 * yield toolResult('call-2', 'No such city', { isError: true });
 */
export function toolResult(
  id: string,
  content: unknown,
  options: { isError?: boolean | undefined } = {},
): ToolResultEnvelope {
  refuseUnknown('toolResult', options, { isError: true });
  const { isError } = options;
  return { type: 'tool_result', data: { id, content, ...(isError !== undefined && { isError }) } };
}

interface GivenFile {
  /** A label of 1 to 255 bytes without `/`, `\` and control characters. Default: that of a `File`, otherwise `file`. */
  name?: string | undefined;
  /** `type/subtype` with optional parameters. Default: that of a `Blob`, otherwise `application/octet-stream`. */
  mimeType?: string | undefined;
  /** A `Blob` or `File`, bytes, or a stream of bytes of any length, which is read as it arrives. */
  content: EmittedContent;
}

const GIVEN_FILE: Record<keyof GivenFile, true> = { name: true, mimeType: true, content: true };

/**
 * Makes an envelope that carries a file of the answer. The service stores the content before the answer goes on; callers get the
 * name, the type, the size, the digest and the path of the file.
 *
 * @throws {TypeError} a member is unknown
 *
 * @example
 * yield file({ name: 'sales.csv', mimeType: 'text/csv', content: Buffer.from('city,sum\nParis,12\n') });
 * yield file({ name: 'clip.mp4', mimeType: 'video/mp4', content: createReadStream('/tmp/clip.mp4') });
 */
export function file(given: GivenFile): EmittedFileEnvelope {
  refuseUnknown('file', given, GIVEN_FILE);
  const { name, mimeType, content } = given;
  const blob: Partial<File> = content instanceof Blob ? content : {};
  const label = name ?? blob.name ?? 'file';
  const type = mimeType ?? (blob.type || 'application/octet-stream');
  return { type: 'file', data: { name: label, mimeType: type, content } };
}

/**
 * Makes an envelope that names a source of the answer.
 *
 * @param options `title` is for people. Default: none
 * @throws {TypeError} an option is unknown
 *
 * @example
 * yield source('https://example.org/paris', { title: 'Paris' });
 */
export function source(url: string, options: { title?: string | undefined } = {}): SourceEnvelope {
  refuseUnknown('source', options, { title: true });
  const { title } = options;
  return { type: 'source', data: { url, ...(title !== undefined && { title }) } };
}

/**
 * Makes an envelope that carries the structured result of the run. A run has one at most: a second one fails it.
 *
 * @param value any value that JSON can represent
 *
 * @example
 * yield result({ city: 'Paris', population: 2_100_000 });
 */
export function result(value: unknown): ResultEnvelope {
  return { type: 'result', data: { value } };
}

/**
 * Makes an envelope with requests that a person can send next. Clients show them as buttons or as a list; those of the newest
 * answer hold.
 *
 * @param items 1 to 8 requests: the text that is sent, what is shown in its place (`label`), and files that are sent with it
 *
 * @example
 * yield suggestions([{ text: 'and for last year?' }, { text: 'export 2026', label: 'Export as CSV' }]);
 */
export function suggestions(items: Suggestion[]): SuggestionsEnvelope {
  return { type: 'suggestions', data: { items } };
}

/**
 * Makes an envelope that says how much of a long task is done.
 *
 * @param done how much is done, a number from 0
 * @param details how much there is, in which unit, and what the work is. Default: not known
 *
 * @example
 * yield progress(3, { total: 12, unit: 'pages', label: 'Reading report.pdf' });
 */
export function progress(
  done: number,
  details: Omit<ProgressEnvelope['data'], 'done'> = {},
): ProgressEnvelope {
  return { type: 'progress', data: { done, ...details } };
}

/**
 * Makes an envelope that says what a model has used. The usage of a run is the sum of these envelopes.
 *
 * @example
 * yield usage({ inputTokens: 120, outputTokens: 48, model: 'my-model' });
 */
export function usage(data: UsageEnvelope['data']): UsageEnvelope {
  return { type: 'usage', data };
}

/**
 * Makes an envelope that carries diagnostic or progress text.
 *
 * @example
 * yield log('Searching 3 documents');
 */
export function log(text: string): LogEnvelope {
  return { type: 'log', data: { message: text } };
}

/**
 * The end of a run whose process stopped before the run had ended.
 *
 * @example
 * lines.push(doneText(INTERRUPTED));
 */
export const INTERRUPTED: RunEnd = {
  status: 'failed',
  error: {
    code: 'interrupted',
    message: 'The service stopped before the run had ended. Send the query again.',
  },
};

/** Whether a run was interrupted: its idempotency key then starts a new run. */
export function isInterrupted(end: RunEnd | undefined): boolean {
  return end?.status === 'failed' && end.error.code === 'interrupted';
}

/**
 * The JSON text of the envelope with which the log of a run continues when its handler is executed again.
 *
 * @param attempt the number of the new attempt, from 2
 * @param from the number of the last envelope that stays valid; 0 for none
 *
 * @example
 * lines.push(restartedText(2, 0));
 */
export function restartedText(attempt: number, from: number): string {
  return JSON.stringify({ type: 'restarted', data: { attempt, from } } satisfies RestartedEnvelope);
}

/**
 * The JSON text of the envelope that ends a log.
 *
 * @example
 * doneText({ status: 'completed' }); // {"type":"done","data":{"status":"completed"}}
 */
export function doneText(end: RunEnd): string {
  return JSON.stringify({ type: 'done', data: end } satisfies DoneEnvelope);
}

function chunk(content: string, id: string | undefined): MessageEnvelope['data'] {
  return id === undefined ? { content } : { content, id };
}
