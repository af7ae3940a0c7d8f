import { nice, ticks } from 'd3-array';
import { utcTicks } from 'd3-time';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The numbers from `low` to `high`, and where each of them is between two places. */
export interface Scale {
  low: number;
  high: number;
  placeOf: (value: number) => number;
}

/** @param from the place of `low` @param to the place of `high` */
export function scaleOf([low, high]: [number, number], from: number, to: number): Scale {
  const span = high - low || 1;
  return { low, high, placeOf: (value) => from + ((value - low) / span) * (to - from) };
}

/** A mark at a scale. */
export interface Mark {
  value: number;
  name: string;
}

/** Round limits around the numbers from `low` to `high`. */
export function roundLimits(low: number, high: number, marks: number): [number, number] {
  return nice(low, high, marks);
}

/** About so many round numbers of a scale. Their names are short, as long as these differ. */
export function numberMarks({ low, high }: Scale, count: number): Mark[] {
  const values = ticks(low, high, count);
  const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 6 });
  const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 });
  const names = values.map((value) => (Math.abs(value) < 10_000 ? whole : short).format(value));
  const isClear = new Set(names).size === names.length;
  return values.map((value, at) => ({ value, name: isClear ? names[at]! : whole.format(value) }));
}

/** So many round dates of a scale in milliseconds at most, in UTC. */
export function dateMarks({ low, high }: Scale, most: number): Mark[] {
  const all = utcTicks(new Date(low), new Date(high), most);
  // Round steps may give up to twice as many.
  const dates = all.filter((_, at) => at % Math.ceil(all.length / most) === 0);
  const step = dates.length < 2 ? DAY : Number(dates[1]) - Number(dates[0]);
  return dates.map((date) => ({ value: Number(date), name: nameOf(date, step) }));
}

/** The year stands where it begins. */
function nameOf(date: Date, step: number): string {
  const isYear = date.getUTCMonth() === 0 && date.getUTCDate() === 1 && date.getUTCHours() === 0;
  if (step > 360 * DAY || (isYear && step >= 28 * DAY)) return `${date.getUTCFullYear()}`;
  const parts: Intl.DateTimeFormatOptions =
    step >= 28 * DAY
      ? { month: 'short' }
      : step >= DAY
        ? { month: 'short', day: 'numeric' }
        : { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
  return date.toLocaleString('en', { ...parts, timeZone: 'UTC' });
}
