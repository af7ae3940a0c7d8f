import { eventParser } from 'nest-agent-query-client/streams';

/** What a stream has sent: an event, or a comment that keeps the connection alive. */
export interface WireEvent {
  /** The id of the event, `{runId}.{number}`; undefined for what is no event. */
  id: string | undefined;
  /** The JSON of the event, or the line that is no event. */
  raw: string;
  /** Milliseconds since the request was sent. */
  atMs: number;
  /** Milliseconds since what came before. */
  gapMs: number;
}

/**
 * Reads a stream for people: events, and what is no event.
 *
 * @returns what is given the bytes of the stream, and returns what has become whole with them
 */
export function eventLines(): (bytes: Uint8Array) => Pick<WireEvent, 'id' | 'raw'>[] {
  let lines: Pick<WireEvent, 'id' | 'raw'>[] = [];
  const addLine = (raw: string) => lines.push({ id: undefined, raw });
  const parse = eventParser({
    onEvent: ({ id, data }) => lines.push({ id, raw: data }),
    onRetry: (ms) => addLine(`retry: ${ms}`),
    onComment: (text) => addLine(`: ${text}`.trim()),
  });
  return (bytes) => {
    lines = [];
    parse(bytes);
    return lines;
  };
}
