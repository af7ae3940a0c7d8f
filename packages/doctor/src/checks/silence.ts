import type { Caller } from '../caller.js';
import { type Finding, ok, problem, seconds, unknown, warning } from '../finding.js';
import { whatCame } from '../problem-body.js';
import { isWhole, timedStream, type TimedStream } from '../timed-stream.js';

/** After such a silence a keep-alive must have come, if the service has the defaults, also of a version whose default is 10 s. */
const KEEP_ALIVE_MS = 12_000;

/** How far apart two cuts may be that have one cause. */
const SAME_MS = 1_500;

/**
 * Checks how long a connection lasts: of a stream that is silent but for keep-alives, and of one that has an event each second.
 *
 * @param idle seconds
 */
export async function checkSilence(caller: Caller, idle: number): Promise<Finding[]> {
  const [silent, ticking] = await Promise.all([
    timedStream(caller, { count: 2, intervalMs: 0, silenceMs: idle * 1_000 }),
    timedStream(caller, { count: idle + 1, intervalMs: 1_000 }),
  ]);
  const duration = durationOf(ticking, idle);
  return [idleOf(silent, ticking, idle), duration];
}

function idleOf(stream: TimedStream, ticking: TimedStream, idle: number): Finding {
  const { exchange, keepAlives } = stream;
  if (exchange.head?.status !== 200) return unknown('idle', `no stream: ${whatCame(exchange)}`);
  if (limitOfService(stream) !== undefined)
    return unknown('idle', `the service ended the run: ${limitOfService(stream)}`);
  const shown = keepAlivesInWords(keepAlives);
  if (!isWhole(stream)) {
    const wasCutToo = !isWhole(ticking) && Math.abs(ticking.exchange.endMs - exchange.endMs) < SAME_MS;
    const measured = `cut after ${seconds(exchange.endMs)}; ${shown} before`;
    if (wasCutToo)
      return unknown('idle', `${measured}. A stream with an event each second was cut too: see below`);
    return problem('idle', measured, 'idle');
  }
  const silence = `a stream that is silent for ${idle} s arrives whole`;
  if (exchange.endMs - stream.events[0]!.atMs < idle * 500)
    return warning(
      'idle',
      `of a stream that is silent for ${idle} s nothing comes before its end: the next proxy may cut it`,
      'buffering',
    );
  if (keepAlives.length === 0 && idle * 1_000 > KEEP_ALIVE_MS)
    return warning(
      'idle',
      `${silence}, but no keep-alive came: KEEP_ALIVE_MS is long, or a proxy removes them`,
      'buffering',
    );
  return ok('idle', `${silence}; ${shown}`);
}

function keepAlivesInWords(keepAlives: number[]): string {
  if (keepAlives.length === 0) return 'no keep-alive came';
  if (keepAlives.length === 1) return 'one keep-alive came';
  return `${keepAlives.length} keep-alives came, one every ${seconds(intervalMs(keepAlives))}`;
}

/** The mean time between two keep-alives. */
function intervalMs(keepAlives: number[]): number {
  return (keepAlives.at(-1)! - keepAlives[0]!) / (keepAlives.length - 1);
}

function durationOf(stream: TimedStream, idle: number): Finding {
  const { exchange } = stream;
  if (exchange.head?.status !== 200) return unknown('duration', `no stream: ${whatCame(exchange)}`);
  if (isWhole(stream)) {
    const limit = limitOfService(stream);
    if (limit !== undefined) return unknown('duration', `the service ended the run: ${limit}`);
    return ok('duration', `a stream with an event each second lasts ${idle} s; --idle tests longer ones`);
  }
  return problem(
    'duration',
    `a stream with an event each second was cut after ${seconds(exchange.endMs)}`,
    'duration',
  );
}

/** The sentence with which the service itself has ended the run. */
function limitOfService({ events }: TimedStream): string | undefined {
  const last = events.at(-1);
  if (last?.type !== 'done') return undefined;
  return (last.data as { error?: { message: string } }).error?.message;
}
