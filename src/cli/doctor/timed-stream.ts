import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { createParser } from 'eventsource-parser';
import type { Caller } from './caller.js';
import type { Exchange, Piece } from './exchange.js';

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

/** The body that asks for a timetable. */
export function bodyOf(timetable: Timetable): string {
  const text = 'A test of the way from nest-agent-query doctor to the service.';
  return JSON.stringify({ parts: [{ type: 'text', text }], kwargs: timetable });
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

/** Finds the events in the pieces of a response. */
export async function readStream(response: Exchange): Promise<TimedStream> {
  const encoding = encodingOf(response);
  const stream: TimedStream = {
    exchange: response,
    events: [],
    keepAlives: [],
    encoding,
    runId: undefined,
  };
  let atMs = 0;
  const parser = createParser({
    onEvent: ({ id, data }) => stream.events.push({ atMs, id, ...envelopeOf(data) }),
    onComment: () => stream.keepAlives.push(atMs),
  });
  const decoder = new TextDecoder();
  for await (const piece of decoded(response.pieces, encoding)) {
    atMs = piece.atMs;
    parser.feed(decoder.decode(piece.bytes, { stream: true }));
  }
  stream.runId = /^([\w-]+)\.\d+$/.exec(stream.events[0]?.id ?? '')?.[1];
  return stream;
}

/** Whether the last event of the run has arrived. */
export function isWhole({ events }: TimedStream): boolean {
  return events.at(-1)?.type === 'done';
}

function encodingOf({ head }: Exchange): string | undefined {
  const encoding = head?.headers['content-encoding']?.trim().toLowerCase();
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}

function envelopeOf(data: string): { type: string; data: unknown } {
  try {
    return JSON.parse(data) as { type: string; data: unknown };
  } catch {
    return { type: 'invalid', data };
  }
}

const DECODERS: Record<string, () => Transform> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The pieces without their compression: what each of them makes readable. */
async function* decoded(pieces: Piece[], encoding: string | undefined): AsyncGenerator<Piece> {
  const decoder = encoding === undefined ? undefined : DECODERS[encoding]?.();
  if (!decoder) return yield* pieces;
  let readable: Buffer[] = [];
  decoder.on('data', (bytes: Buffer) => readable.push(bytes));
  // A stream that was cut ends within its compression.
  decoder.on('error', () => undefined);
  for (const { atMs, bytes } of pieces) {
    await new Promise<void>((resolve) => decoder.write(bytes, () => setImmediate(resolve)));
    yield { atMs, bytes: Buffer.concat(readable) };
    readable = [];
  }
  decoder.destroy();
}
