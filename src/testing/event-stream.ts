import type { Envelope } from '../query/index.js';

/** An event of a stream, as a client reads it. */
export interface StreamEvent {
  /** `{runId}.{seq}`; undefined in the plain profile. */
  id: string | undefined;
  envelope: Envelope;
}

/**
 * The events of a stream (WHATWG HTML §9.2.6). An event that was cut is left out.
 *
 * @param text what was received
 * @throws {Error} the data of an event is not JSON
 */
export function eventsOf(text: string): StreamEvent[] {
  const blocks = text.split(/\r?\n\r?\n/).slice(0, -1);
  return blocks.flatMap((block) => {
    const lines = block.split(/\r?\n/);
    const data = valuesOf(lines, 'data');
    if (data.length === 0) return [];
    return [{ id: valuesOf(lines, 'id').at(-1), envelope: parsed(data.join('\n')) }];
  });
}

function valuesOf(lines: string[], field: string): string[] {
  return lines
    .filter((line) => line.startsWith(`${field}:`))
    .map((line) => line.slice(field.length + 1).replace(/^ /, ''));
}

function parsed(data: string): Envelope {
  try {
    return JSON.parse(data) as Envelope;
  } catch (error) {
    throw new Error(`The data of an event is not JSON: ${data.slice(0, 200)}`, { cause: error });
  }
}
