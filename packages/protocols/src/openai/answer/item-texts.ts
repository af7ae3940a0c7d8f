import type { ResultEnvelope } from 'nest-agent-query';
import { contentsOf } from '../../view/event-form.js';

/** By the type of an envelope: what it adds to a text, as JSON. Undefined if the envelope is another one. */
export const CONTENTS = {
  message: contentsOf('message'),
  reasoning: contentsOf('reasoning'),
  /** The value of a structured result as a text: JSON, as JSON. */
  result: (line: string): string | undefined => {
    if (!line.startsWith('{"type":"result"')) return undefined;
    return JSON.stringify(JSON.stringify((JSON.parse(line) as ResultEnvelope).data.value));
  },
};

/** The types of envelopes that are kept besides the texts. */
const KEPT = new Set(['tool_call', 'tool_result', 'source', 'file', 'input_required']);

/** How many characters are kept of an envelope: it as it is, and the JSON of an item. */
export function keptLength(type: string, line: string): number {
  return KEPT.has(type) ? 2 * line.length : 0;
}

/** The characters that a text has. @param json it as JSON, with the quotes */
export function plainLength(json: string): number {
  return json.includes('\\') ? (JSON.parse(json) as string).length : json.length - 2;
}

/**
 * Whether a text says the same as a value. A text that is too long to be held does not.
 *
 * @param text as JSON, without the quotes
 * @param value JSON, as JSON
 */
export function isJsonOf(text: string | undefined, value: string): boolean {
  if (text === undefined) return false;
  try {
    const plain = JSON.parse(`"${text}"`) as string;
    return JSON.stringify(JSON.stringify(JSON.parse(plain))) === value;
  } catch {
    return false;
  }
}
