import { setTimeout as wait } from 'node:timers/promises';
import type { Envelope, HandlerFunction } from '../../query/index.js';
import { timetableOf } from './timetable.js';

/**
 * Makes the handler that `nest-agent-query doctor` asks. Its answer has events at known times, so that a client sees what
 * proxies do with a stream. It needs no model, and reads nothing of the query but these kwargs:
 *
 * - `count`: how many events, from 1 to 1,000; default 5
 * - `intervalMs`: the time between two events, from 0 to 60,000; default 200
 * - `silenceMs`: a silence after the first event, from 0 to 600,000; default 0
 * - `paddingBytes`: how much each event is longer, from 0 to 65,536; default 0
 *
 * An answer takes at most 10 min, and has at most 1 MiB of padding. Other values fail the run with `invalid_query`.
 *
 * Each event is `{"type":"diagnostic","data":{"number":1,"atMs":0,"padding":""}}`: its number, and how many milliseconds after
 * the first one it was made.
 *
 * @example
 * // The endpoint is `query`, so the doctor looks for `query/diagnostic`.
 * QueryModule.forRoot({ handler: diagnosticHandler(), name: 'diagnostic', path: 'query/diagnostic' })
 */
export function diagnosticHandler(): HandlerFunction {
  return async function* ({ kwargs }, { signal }) {
    const { count, intervalMs, silenceMs, paddingBytes } = timetableOf(kwargs);
    const padding = 'x'.repeat(paddingBytes);
    const start = performance.now();
    for (let index = 0; index < count; index++) {
      const due = index === 0 ? 0 : silenceMs + index * intervalMs;
      if (!(await isDue(start + due, signal))) return;
      yield event(index + 1, performance.now() - start, padding);
    }
  };
}

/** Waits until a time; false if the run must stop before. Timers leave out parts of a millisecond, and may be early by one. */
async function isDue(time: number, signal: AbortSignal): Promise<boolean> {
  for (let rest = time - performance.now(); rest > 0 && !signal.aborted; rest = time - performance.now())
    await wait(Math.ceil(rest), undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}

function event(number: number, atMs: number, padding: string): Envelope {
  return { type: 'diagnostic', data: { number, atMs: Math.round(atMs), padding } };
}
