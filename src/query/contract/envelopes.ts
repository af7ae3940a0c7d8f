import { QueryError } from './errors.js';
import type { DoneEnvelope, LogEnvelope, MessageEnvelope, RestartedEnvelope, RunEnd } from './wire.js';

/**
 * Makes an envelope that carries a part of the agent's response text.
 *
 * @example
 * yield message('The capital of France is ');
 * yield message('Paris.');
 */
export function message(content: string): MessageEnvelope {
  return { type: 'message', data: { content } };
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

/** The end of a run whose process stopped before the run had ended. */
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
 */
export function restartedText(attempt: number, from: number): string {
  return JSON.stringify({ type: 'restarted', data: { attempt, from } } satisfies RestartedEnvelope);
}

/** The JSON text of the envelope that ends a log. */
export function doneText(end: RunEnd): string {
  return JSON.stringify({ type: 'done', data: end } satisfies DoneEnvelope);
}

/**
 * The JSON text of an envelope that a handler emitted: one line, with the members `type` and `data` in this order.
 *
 * @param value what the handler emitted, of any type
 * @param maxLength the most characters of JSON that the data may have
 * @throws {QueryError} `invalid_envelope` with a sentence that says what is wrong
 */
export function envelopeText(value: unknown, maxLength: number): string {
  if (typeof value !== 'object' || value === null) throw invalid(`it is ${kindOf(value)}, not an object`);
  const { type, data } = value as { type?: unknown; data?: unknown };
  if (typeof type !== 'string' || type === '') throw invalid('its `type` is not a non-empty string');
  if (type === 'done') throw invalid('the type `done` is reserved for the end of the run');
  if (type === 'restarted') throw invalid('the type `restarted` is reserved for a new attempt of the run');
  let text: string | undefined;
  if (type === 'message') text = textOnly(data, type, 'content', '{"type":"message","data":{"content":');
  if (type === 'log') text = textOnly(data, type, 'message', '{"type":"log","data":{"message":');
  text ??= jsonText(type, data);
  if (text.length > maxLength) {
    const length = text.length - JSON.stringify({ type, data: '' }).length + 2;
    if (length > maxLength) {
      throw invalid(`its data is ${length} characters of JSON, more than the ${maxLength} allowed`);
    }
  }
  return text;
}

/**
 * The JSON of an envelope whose data has one member, a text. It is put together here because `JSON.stringify` of the whole
 * envelope takes three times as long. Returns undefined if the data may have other members.
 */
function textOnly(data: unknown, type: string, member: string, begin: string): string | undefined {
  const text: unknown = (data as Record<string, unknown> | null | undefined)?.[member];
  if (typeof text !== 'string') throw invalid(`a \`${type}\` needs \`data.${member}\`, a string`);
  for (const name in data as object) if (name !== member) return undefined;
  return 'toJSON' in (data as object) ? undefined : `${begin}${JSON.stringify(text)}}}`;
}

function jsonText(type: string, data: unknown): string {
  let text: string;
  try {
    text = JSON.stringify({ type, data });
  } catch (error) {
    throw invalid(
      'its `data` contains a cycle, a BigInt, or something else that JSON cannot represent',
      error,
    );
  }
  // `JSON.stringify` leaves out a member that JSON cannot represent. A quote inside the type would be escaped.
  if (!text.includes('"data":', type.length)) {
    throw invalid(`its \`data\` is ${kindOf(data)}, which JSON cannot represent`);
  }
  return text;
}

function invalid(what: string, cause?: unknown): QueryError {
  const detail = `The agent emitted something that is not an envelope: ${what}.`;
  return new QueryError('invalid_envelope', detail, {}, { cause });
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return value === undefined ? 'undefined' : `a ${typeof value}`;
}
