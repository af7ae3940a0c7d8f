import { isInRange, QueryError, type Range, rangeText } from '../../query/index.js';

/** When the events of an answer come, and how large they are. Times are milliseconds. */
export interface Timetable {
  count: number;
  intervalMs: number;
  silenceMs: number;
  paddingBytes: number;
}

const DEFAULTS: Timetable = { count: 5, intervalMs: 200, silenceMs: 0, paddingBytes: 0 };

/** Nobody can use the agent for more than a test: these bound one answer, and the two limits below all of it. */
const RANGES: Record<keyof Timetable, Range> = {
  count: [1, 1_000],
  intervalMs: [0, 60_000],
  silenceMs: [0, 600_000],
  paddingBytes: [0, 65_536],
};

const MAX_MS = 600_000;
const MAX_PADDING = 1024 * 1024;

/**
 * Reads the kwargs of a query. Keys that it does not know are ignored.
 *
 * @throws {QueryError} `invalid_query`
 */
export function timetableOf(kwargs: Record<string, unknown>): Timetable {
  const table = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS) as (keyof Timetable)[]) {
    const value = kwargs[key] ?? DEFAULTS[key];
    if (!isInRange(value, RANGES[key])) throw refusal(`kwargs.${key} must be ${rangeText(RANGES[key])}.`);
    table[key] = value as number;
  }
  if (table.silenceMs + (table.count - 1) * table.intervalMs > MAX_MS)
    throw refusal(`The answer would take longer than ${MAX_MS} ms.`);
  if (table.count * table.paddingBytes > MAX_PADDING)
    throw refusal(`The padding of all events together would have more than ${MAX_PADDING} bytes.`);
  return table;
}

function refusal(detail: string): QueryError {
  return new QueryError('invalid_query', detail);
}
