import { positionOf } from '../contract/list-cursor.js';
import type { FieldError } from 'nest-agent-query-client';
import { invalidParameters } from '../contract/refusals.js';
import type { RunStatus } from 'nest-agent-query-client';
import { type ListOptions, PAGE_ENTRIES, type RunListOptions } from '../runs/lists.js';

/** The parameters of a URL. A parameter that occurs several times is an array. */
export type UrlParameters = Record<string, unknown>;

const MAX_PAGE_ENTRIES = 500;
const STATUSES: Record<RunStatus, true> = {
  waiting: true,
  running: true,
  completed: true,
  failed: true,
  cancelled: true,
};

/**
 * Reads the parameters of `GET {base}/query`.
 *
 * @throws {QueryError} `invalid_query`, with all faults
 */
export function runListOf(parameters: UrlParameters): RunListOptions {
  const reader = new ParameterReader(parameters);
  const session = reader.text('session', () => true, 'must occur once');
  const status = reader.text(
    'status',
    (value) => Object.hasOwn(STATUSES, value),
    `must be one of ${Object.keys(STATUSES).join(', ')}`,
  );
  const page = listPageOf(reader);
  reader.refuseFaults();
  return { session, status: status as RunStatus | undefined, ...page };
}

/**
 * Reads the parameters of `GET {base}/query/sessions`.
 *
 * @throws {QueryError} `invalid_query`, with all faults
 */
export function listOf(parameters: UrlParameters): ListOptions {
  const reader = new ParameterReader(parameters);
  const page = listPageOf(reader);
  reader.refuseFaults();
  return page;
}

/**
 * Reads the parameters of `GET {base}/query/sessions/{session_id}`.
 *
 * @returns how many turns to skip, and how many the page has at most
 * @throws {QueryError} `invalid_query`, with all faults
 */
export function turnsPageOf(parameters: UrlParameters): { after: number; limit: number } {
  const reader = new ParameterReader(parameters);
  const limit = limitOf(reader);
  const after = reader.wholeNumber('after', 0, Number.MAX_SAFE_INTEGER) ?? 0;
  reader.refuseFaults();
  return { after, limit };
}

function listPageOf(reader: ParameterReader): ListOptions {
  const limit = limitOf(reader);
  const isCursor = (value: string) => positionOf(value) !== undefined;
  return { limit, after: reader.text('after', isCursor, 'must be "next" of the page before') };
}

function limitOf(reader: ParameterReader): number {
  return reader.wholeNumber('limit', 1, MAX_PAGE_ENTRIES) ?? PAGE_ENTRIES;
}

/** Reads parameters one by one, and collects their faults. */
class ParameterReader {
  readonly #faults: FieldError[] = [];

  constructor(private readonly parameters: UrlParameters) {}

  /** Undefined if the parameter is absent or faulty. */
  text(name: string, isValid: (value: string) => boolean, detail: string): string | undefined {
    const value = this.parameters[name];
    if (value === undefined) return undefined;
    if (typeof value === 'string' && isValid(value)) return value;
    this.#faults.push({ pointer: `/${name}`, detail });
    return undefined;
  }

  /** Undefined if the parameter is absent or faulty. */
  wholeNumber(name: string, min: number, max: number): number | undefined {
    const isValid = (value: string) =>
      /^\d{1,16}$/.test(value) && Number(value) >= min && Number(value) <= max;
    const value = this.text(name, isValid, `must be a whole number from ${min} to ${max}`);
    return value === undefined ? undefined : Number(value);
  }

  /** @throws {QueryError} `invalid_query` */
  refuseFaults(): void {
    if (this.#faults.length > 0) throw invalidParameters(this.#faults);
  }
}
