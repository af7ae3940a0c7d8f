import { positionOf } from '../contract/list-cursor.js';
import type { FieldError, RunStatus } from 'nest-agent-query-client';
import { invalidParameters } from '../contract/refusals.js';
import { type ListOptions, PAGE_ENTRIES, type RunListOptions } from '../runs/lists.js';

/** The parameters of a URL. A parameter that occurs several times is an array. */
export type UrlParameters = Record<string, unknown>;

/** How a parameter is read. */
interface Reader<T> {
  /** Undefined: the text is not valid. */
  read: (text: string) => T | undefined;
  /** What is wrong with a text that is not valid. */
  detail: string;
}

const ALL: Record<RunStatus, true> = {
  waiting: true,
  running: true,
  completed: true,
  failed: true,
  cancelled: true,
};
const STATUSES = Object.keys(ALL) as RunStatus[];

const session: Reader<string> = { read: (text) => text, detail: 'must occur once' };
const status: Reader<RunStatus> = {
  read: (text) => STATUSES.find((each) => each === text),
  detail: `must be one of ${STATUSES.join(', ')}`,
};
const limit = wholeNumber(1, 500);
const cursor: Reader<string> = {
  read: (text) => (positionOf(text) ? text : undefined),
  detail: 'must be "next" of the page before',
};

/** Reads the parameters of `GET {base}/query`, or refuses them with all their faults. */
export function runListOf(parameters: UrlParameters): RunListOptions {
  return { limit: PAGE_ENTRIES, ...valuesOf(parameters, { session, status, limit, after: cursor }) };
}

/** Reads the parameters of `GET {base}/query/sessions`, or refuses them with all their faults. */
export function listOf(parameters: UrlParameters): ListOptions {
  return { limit: PAGE_ENTRIES, ...valuesOf(parameters, { limit, after: cursor }) };
}

/** The same for `GET {base}/query/sessions/{session_id}`: how many turns to skip, and how many the page has at most. */
export function turnsPageOf(parameters: UrlParameters): { after: number; limit: number } {
  const after = wholeNumber(0, Number.MAX_SAFE_INTEGER);
  return { limit: PAGE_ENTRIES, after: 0, ...valuesOf(parameters, { limit, after }) };
}

function wholeNumber(min: number, max: number): Reader<number> {
  const isIn = (value: number) => value >= min && value <= max;
  return {
    read: (text) => (/^\d{1,16}$/.test(text) && isIn(Number(text)) ? Number(text) : undefined),
    detail: `must be a whole number from ${min} to ${max}`,
  };
}

/**
 * Reads parameters. Those that are absent are absent in the result.
 *
 * @throws {QueryError} `invalid_query`, with all faults
 */
function valuesOf<T extends object>(
  parameters: UrlParameters,
  readers: { [K in keyof T]: Reader<T[K]> },
): Partial<T> {
  const faults: FieldError[] = [];
  const values: Partial<T> = {};
  for (const [name, { read, detail }] of Object.entries(readers) as [keyof T & string, Reader<never>][]) {
    const given = parameters[name];
    if (given === undefined) continue;
    const value = typeof given === 'string' ? read(given) : undefined;
    if (value === undefined) faults.push({ pointer: `/${name}`, detail });
    else values[name] = value;
  }
  if (faults.length > 0) throw invalidParameters(faults);
  return values;
}
