import { eventParser } from 'nest-agent-query-client/streams';
import type { Caller } from './caller.js';
import { encodingOf } from './content-encoding.js';
import type { Exchange } from './exchange.js';

/** An event, and when it arrived: milliseconds since the request began. */
export interface TimedEvent {
  atMs: number;
  id: string | undefined;
  type: string;
  data: unknown;
}

/** A stream of the agent `diagnostic`, as it arrived. */
export interface TimedStream {
  exchange: Exchange;
  events: TimedEvent[];
  /** When keep-alives of the full profile came. */
  keepAlives: number[];
  /** The value of `Content-Encoding`; undefined without one. */
  encoding: string | undefined;
  /** The id of the run, if the events have ids. */
  runId: string | undefined;
}

/** What the agent `diagnostic` is asked for. */
export interface Timetable {
  count: number;
  intervalMs?: number;
  silenceMs?: number;
}

/** The body that asks for a timetable, and names the run with these metadata. */
export function bodyOf(timetable: Timetable, metadata?: Record<string, string>): string {
  const text = 'A test of the way from nest-agent-query doctor to the service.';
  return JSON.stringify({ parts: [{ type: 'text', text }], kwargs: timetable, metadata });
}

const FULL = { accept: 'text/event-stream' };

/** How much longer than its timetable an answer may take. */
const PATIENCE_MS = 15_000;

/** Asks for a timed stream in the full profile, unless the headers say otherwise, and reads it to its end. */
export async function timedStream(
  caller: Caller,
  timetable: Timetable,
  headers: Record<string, string> = {},
): Promise<TimedStream> {
  const { count, intervalMs = 200, silenceMs = 0 } = timetable;
  const response = await caller.exchange({
    method: 'POST',
    path: caller.diagnosticPath,
    headers: { 'content-type': 'application/json', ...FULL, ...headers },
    write: (request) => void request.end(bodyOf(timetable)),
    limitMs: count * intervalMs + silenceMs + PATIENCE_MS,
  });
  return readStream(response);
}

/** Follows a run that has ended. */
export async function followed(
  caller: Caller,
  runId: string,
  headers: Record<string, string>,
): Promise<TimedStream> {
  const path = `${caller.diagnosticPath}/${runId}`;
  return readStream(
    await caller.exchange({
      method: 'GET',
      path,
      headers: { ...FULL, ...headers },
      limitMs: PATIENCE_MS,
    }),
  );
}

/** Finds the events in the pieces of a response. Bytes that are not compressed as the header says have no events. */
export function readStream(exchange: Exchange): TimedStream {
  const events: TimedEvent[] = [];
  const keepAlives: number[] = [];
  let now = 0;
  const parse = eventParser({
    onEvent: ({ id, data }) => events.push({ atMs: now, id, ...envelopeOf(data) }),
    onComment: () => keepAlives.push(now),
  });
  for (const { atMs, bytes } of exchange.isMislabelled ? [] : exchange.pieces) {
    now = atMs;
    parse(bytes);
  }
  const runId = /^([\w-]+)\.\d+$/.exec(events[0]?.id ?? '')?.[1];
  return { exchange, events, keepAlives, encoding: encodingOf(exchange.head?.headers), runId };
}

/** What is wrong with a stream that is not compressed as it claims. */
export function mislabelled({ encoding }: TimedStream): string {
  return `the stream claims Content-Encoding: ${encoding}, but its bytes are not ${encoding}: no client can read it`;
}

/** Whether the last event of the run has arrived. */
export function isWhole({ events }: TimedStream): boolean {
  return events.at(-1)?.type === 'done';
}

function envelopeOf(data: string): { type: string; data: unknown } {
  try {
    return JSON.parse(data) as { type: string; data: unknown };
  } catch {
    return { type: 'invalid', data };
  }
}
