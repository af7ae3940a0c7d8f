import type { Caller } from '../caller.js';
import { type Finding, ok, problem, seconds, unknown, warning } from '../finding.js';
import { whatCame } from '../problem-body.js';
import { isWhole, mislabelled, timedStream, type TimedStream } from '../timed-stream.js';

const TIMETABLE = { count: 9, intervalMs: 250 };

/** What jitter of a network explains. A proxy that collects events holds the first ones back for longer. */
const JITTER_MS = 2 * TIMETABLE.intervalMs;

/** A proxy that waits for more bytes makes nearly all events late by a fixed time; 200 ms is usual. */
const LATE_MS = 100;

/** What a browser accepts. */
const COMPRESSED = { 'accept-encoding': 'gzip, deflate, br' };

/** Checks how the events of two streams arrive: of a client that takes no compression, and of one that does. */
export async function checkStreaming(caller: Caller): Promise<Finding[]> {
  const [plain, browser] = await Promise.all([
    timedStream(caller, TIMETABLE, { 'accept-encoding': 'identity' }),
    timedStream(caller, TIMETABLE, COMPRESSED),
  ]);
  return [
    buffering(plain),
    compression(browser, plain),
    contentLocation(plain, caller.target.path),
    cacheControl(plain),
  ];
}

/** How much longer than the fastest event the slowest was held back: milliseconds. */
export function heldBackMs(stream: TimedStream): number {
  const delays = delaysOf(stream);
  return delays.length === 0 ? 0 : delays.at(-1)! - delays[0]!;
}

/** The same of the event in the middle, so that one late packet does not count. */
function usuallyLateMs(stream: TimedStream): number {
  const delays = delaysOf(stream);
  return delays.length === 0 ? 0 : delays[delays.length >> 1]! - delays[0]!;
}

/** The times between making and receiving events, in their order, with a constant that is the same for all. */
function delaysOf({ events }: TimedStream): number[] {
  return events
    .filter(({ type }) => type === 'diagnostic')
    .map(({ atMs, data }) => atMs - (data as { atMs: number }).atMs)
    .sort((one, other) => one - other);
}

function buffering(stream: TimedStream): Finding {
  if (!isWhole(stream)) return unfinished('buffering', stream);
  const held = heldBackMs(stream);
  const sent = `${TIMETABLE.count} events, one every ${seconds(TIMETABLE.intervalMs)}`;
  const late = usuallyLateMs(stream);
  if (held <= JITTER_MS && late > LATE_MS)
    return warning('buffering', `${sent}, arrived one by one, but most are ${seconds(late)} late`, 'late');
  if (held <= JITTER_MS) return ok('buffering', `${sent}, arrived one by one (within ${seconds(held)})`);
  return problem(
    'buffering',
    `${sent}: ${burstsInWords(stream)}; the first was held back for ${seconds(held)}`,
    'buffering',
  );
}

function burstsInWords({ events }: TimedStream): string {
  const bursts = new Set(events.map(({ atMs }) => Math.round(atMs / 50))).size;
  return bursts === 1 ? 'all arrived at once' : `arrived in ${bursts} pieces`;
}

function compression(stream: TimedStream, plain: TimedStream): Finding {
  const { encoding } = stream;
  if (encoding === undefined) {
    if (!isWhole(stream)) return unfinished('compression', stream);
    return ok('compression', 'the stream is not compressed, also for a client that accepts it');
  }
  if (stream.exchange.isMislabelled) return problem('compression', mislabelled(stream), 'compression');
  if (stream.events.length === 0)
    return unknown('compression', `the stream is compressed with ${encoding}, which the doctor cannot read`);
  const held = heldBackMs(stream);
  const isItsFault = held > JITTER_MS && heldBackMs(plain) <= JITTER_MS;
  if (isItsFault || !isWhole(stream))
    return problem(
      'compression',
      `the stream is compressed with ${encoding}, and events are held back for ${seconds(held)} for that`,
      'compression',
    );
  return warning(
    'compression',
    `the stream is compressed with ${encoding}; ${held > JITTER_MS ? 'it is held back in any case' : 'events still arrive one by one'}`,
    'compression',
  );
}

/** The path of the run must begin with that of the request: clients go there. */
function contentLocation({ exchange, runId }: TimedStream, path: string): Finding {
  if (runId === undefined) return unknown('content-location', 'the stream has no id of its run');
  const given = exchange.head!.headers['content-location'];
  const expected = `${path}/diagnostic/${runId}`;
  if (given === undefined)
    return problem(
      'content-location',
      'is lost: clients that look for the path of the run do not find it',
      'response-header',
    );
  if (given === expected) return ok('content-location', 'names the run below the path of the request');
  const fixed = (measured: string, prefix: string) =>
    problem('content-location', measured, 'content-location', prefix);
  if (!expected.endsWith(given)) return fixed(`is ${given}, but the run is at ${expected}`, '/prefix');
  const prefix = expected.slice(0, -given.length);
  const lost = `a proxy removes ${prefix} from the path of requests, and does not add it again`;
  return fixed(`names the run below ${path.slice(prefix.length)}, and clients need ${path}: ${lost}`, prefix);
}

function cacheControl({ exchange }: TimedStream): Finding {
  const { head } = exchange;
  if (head?.status !== 200) return unknown('cache-control', 'there was no stream');
  const value = head.headers['cache-control'] ?? '';
  const accel =
    head.headers['x-accel-buffering'] === undefined
      ? 'does not arrive: a proxy has used or removed it'
      : 'arrives';
  const also = `; X-Accel-Buffering: ${accel}`;
  if (/\bno-transform\b/.test(value) && /\bno-(?:cache|store)\b/.test(value))
    return ok('cache-control', `${value}${also}`);
  const shown = value === '' ? 'is lost' : `is changed to "${value}"`;
  return warning(
    'cache-control',
    `${shown}: what is behind that proxy may store or change the stream${also}`,
    'response-header',
  );
}

/** A stream that did not come to its end. */
export function unfinished(check: Finding['check'], { exchange, events }: TimedStream): Finding {
  if (exchange.head?.status !== 200) return unknown(check, `no stream: ${whatCame(exchange)}`);
  return problem(
    check,
    `the stream ended after ${seconds(exchange.endMs)} and ${events.length} events, before its end`,
    'duration',
  );
}
