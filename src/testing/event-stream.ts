import { eventParser } from 'nest-agent-query-client/streams';
import type { Envelope } from '../query/index.js';

/** An event of a stream, as a client reads it. */
export interface StreamEvent {
  /** `{runId}.{seq}`; undefined in the plain profile. */
  id: string | undefined;
  envelope: Envelope;
}

/**
 * The events of a stream. An event that was cut is left out.
 *
 * @param text what was received
 * @throws {Error} the data of an event is not JSON
 */
export function eventsOf(text: string): StreamEvent[] {
  const events: StreamEvent[] = [];
  const parse = eventParser({ onEvent: ({ id, data }) => events.push({ id, envelope: parsed(data) }) });
  parse(Buffer.from(text));
  return events;
}

function parsed(data: string): Envelope {
  try {
    return JSON.parse(data) as Envelope;
  } catch (error) {
    throw new Error(`The data of an event is not JSON: ${data.slice(0, 200)}`, { cause: error });
  }
}
