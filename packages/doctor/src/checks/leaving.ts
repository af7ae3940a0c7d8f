import type { Caller } from '../caller.js';
import { type Finding, ok, problem, seconds, unknown, warning } from '../finding.js';
import { MarkedRun } from '../marked-run.js';
import { whatCame } from '../problem-body.js';
import { isWhole, type TimedStream } from '../timed-stream.js';

/** A stream that the service cuts after its first event, although it has another one. */
const CUT = { count: 2, silenceMs: 12_000 };

/** A stream that was not cut by then is not cut at all. */
const CUT_LIMIT_MS = 6_000;

/** A service that cancels a run with its last follower has done so by then, also in another process. */
const CANCEL_MS = 3_000;

/** When the doctor leaves: the stream is silent by then. What is written to a client that leaves would show that it has left. */
const READ_MS = 1_500;

/** A service that notices a client this late has written for it in vain, but not for long. */
const LATE_MS = 3_000;

/** What comes before the wait takes less. */
const BEFORE_MS = 3_000;

/** How long the doctor waits at least and at most. */
const SHORTEST_MS = 5_000;
const LONGEST_MS = 62_000;

/** Longer than two keep-alives of a service that has the defaults, and of one of a version whose default is 10 s. */
const NEVER_MS = 25_000;

/**
 * Checks what the ends of a way learn of the end of the other one: a client of a stream that the service has cut, and the service of a
 * client that has left. All this takes as long as the silence, but at least about 8 s and at most 65 s.
 *
 * @param idle seconds
 */
export async function checkLeaving(caller: Caller, idle: number): Promise<Finding[]> {
  const run = new MarkedRun(caller);
  const limits = { limitMs: CUT_LIMIT_MS, search: '?cut' };
  const stream = await run.begin(CUT, limits);
  const finding = cutsOf(stream);
  if (finding.verdict === 'unknown') return [finding, unknown('leaving', finding.measured)];
  // What the service cuts itself, it notices at once.
  const control = await run.endsWithin(CANCEL_MS);
  if (control === 'unknown') return [finding, unknown('leaving', `a run cannot be looked at: ${run.answer}`)];
  if (control !== undefined) return [finding, await leavingOf(caller, idle)];
  await run.cancel();
  const measured =
    'the agent for tests is mounted without disconnect: "cancel": mount it with diagnosticAgent()';
  return [finding, unknown('leaving', measured)];
}

function cutsOf(stream: TimedStream): Finding {
  const { exchange, events } = stream;
  if (exchange.head?.status !== 200) return unknown('cuts', `no stream: ${whatCame(exchange)}`);
  if (isWhole(stream)) return unknown('cuts', 'the run ended before its stream was cut');
  if (exchange.end === 'stopped' && events.length === 0) return unknown('cuts', 'no event came in time');
  if (exchange.end === 'stopped')
    return unknown('cuts', 'the service is older, or mounts the agent for tests without diagnosticAgent()');
  if (exchange.end === 'cut') return ok('cuts', 'a stream that is cut shows it: its connection is closed');
  return warning(
    'cuts',
    'a cut stream ends as if it were complete, so that only clients that wait for "done" see the cut',
    'cuts',
  );
}

async function leavingOf(caller: Caller, idle: number): Promise<Finding> {
  const waitMs = Math.min(Math.max(idle * 1_000 - BEFORE_MS, SHORTEST_MS), LONGEST_MS);
  const run = new MarkedRun(caller);
  const timetable = { count: 2, silenceMs: READ_MS + waitMs + LATE_MS };
  await run.begin(timetable, { limitMs: READ_MS });
  const noticed = await run.endsWithin(waitMs);
  if (noticed === 'unknown') return unknown('leaving', `a run cannot be looked at: ${run.answer}`);
  if (noticed === undefined) await run.cancel();
  return leavingFound(noticed, waitMs);
}

/**
 * What it means when a client that has left was noticed.
 *
 * @param noticed how many milliseconds it took; undefined if it was not noticed within `waitMs`
 */
export function leavingFound(noticed: number | undefined, waitMs: number): Finding {
  if (noticed === undefined && waitMs < NEVER_MS) {
    const measured = `not noticed within ${seconds(waitMs)}; --idle 30 shows whether it ever is`;
    return warning('leaving', measured, 'leaving');
  }
  if (noticed === undefined) {
    const measured = `not noticed within ${seconds(waitMs)}: runs go on although nobody waits for them`;
    return problem('leaving', measured, 'leaving');
  }
  const measured = `noticed after ${seconds(noticed)}`;
  return noticed < LATE_MS ? ok('leaving', measured) : warning('leaving', measured, 'leaving');
}
