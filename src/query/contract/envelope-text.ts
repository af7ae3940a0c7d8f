import { SHAPES, shapeFault } from './envelope-shapes.js';
import { QueryError } from './errors.js';
import type { Envelope } from 'nest-agent-query-client';

/** The types that only the service writes. */
const RESERVED = new Map([
  ['done', 'the end of the run'],
  ['restarted', 'a new attempt of the run'],
  ['input_required', '`context.ask`'],
  ['input_resolved', 'the answers to `context.ask`'],
]);

/**
 * The JSON text of an envelope that a handler emitted: one line, with the members `type` and `data` in this order.
 *
 * @param maxLength the most characters of JSON that the data may have
 * @throws {QueryError} `invalid_envelope` with a sentence that says what is wrong
 */
export function envelopeText(value: unknown, maxLength: number): string {
  if (typeof value !== 'object' || value === null)
    throw invalidEnvelope(`it is ${kindOf(value)}, not an object`);
  const { type, data } = value as { type?: unknown; data?: unknown };
  if (typeof type !== 'string' || type === '') throw invalidEnvelope('its `type` is not a non-empty string');
  const reserved = RESERVED.get(type);
  if (reserved !== undefined) throw invalidEnvelope(`the type \`${type}\` is reserved for ${reserved}`);
  let text: string | undefined;
  if (type === 'message') text = textOnly(data, type, 'content', '{"type":"message","data":{"content":');
  if (type === 'log') text = textOnly(data, type, 'message', '{"type":"log","data":{"message":');
  if (type === 'reasoning') text = textOnly(data, type, 'content', '{"type":"reasoning","data":{"content":');
  text ??= checkedText(type, data);
  if (text.length > maxLength) {
    const length = text.length - JSON.stringify({ type, data: '' }).length + 2;
    if (length > maxLength) {
      throw invalidEnvelope(`its data is ${length} characters of JSON, more than the ${maxLength} allowed`);
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
  if (typeof text !== 'string') throw invalidEnvelope(`a \`${type}\` needs \`data.${member}\`, a string`);
  for (const name in data as object) if (name !== member) return undefined;
  return 'toJSON' in (data as object) ? undefined : `${begin}${JSON.stringify(text)}}}`;
}

/** The JSON of an envelope, if its data has the shape of its type. What `toJSON` makes of the data is what callers get. */
function checkedText(type: string, data: unknown): string {
  const text = jsonText(type, data);
  if (!SHAPES.has(type)) return text;
  const isReplaced = typeof data === 'object' && data !== null && 'toJSON' in data;
  const fault = shapeFault(type, isReplaced ? (JSON.parse(text) as Envelope).data : data);
  if (fault !== undefined) throw invalidEnvelope(fault);
  return text;
}

function jsonText(type: string, data: unknown): string {
  let text: string;
  try {
    text = JSON.stringify({ type, data });
  } catch (error) {
    throw invalidEnvelope(
      'its `data` contains a cycle, a BigInt, or something else that JSON cannot represent',
      error,
    );
  }
  // `JSON.stringify` leaves out a member that JSON cannot represent. A quote inside the type would be escaped.
  if (!text.includes('"data":', type.length)) {
    throw invalidEnvelope(`its \`data\` is ${kindOf(data)}, which JSON cannot represent`);
  }
  return text;
}

/**
 * The handler has emitted something else than an envelope.
 *
 * @param what what is wrong with it: a sentence without its full stop
 */
export function invalidEnvelope(what: string, cause?: unknown): QueryError {
  const detail = `The agent emitted something that is not an envelope: ${what}.`;
  return new QueryError('invalid_envelope', detail, {}, { cause });
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return value === undefined ? 'undefined' : `a ${typeof value}`;
}
