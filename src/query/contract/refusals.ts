import type { ValidationError } from 'class-validator';
import type { FieldError } from 'nest-agent-query-client';
import { QueryError } from './errors.js';

/** The refusals that several stores or several layers make, so that callers always read the same sentence. */

/**
 * Refuses a request because of faults at places of its body.
 *
 * @param errors at least one
 *
 * @example
 * throw invalidQuery([{ pointer: '/messages/0', detail: 'must be an object' }]);
 */
export function invalidQuery(errors: FieldError[]): QueryError {
  return new QueryError('invalid_query', sentenceOf(errors), { errors });
}

/** @param errors what is wrong with answers to requests of a run */
export function invalidAnswer(errors: FieldError[]): QueryError {
  return new QueryError('invalid_answer', sentenceOf(errors), { errors });
}

function sentenceOf(errors: FieldError[]): string {
  const [first] = errors;
  const where = first?.pointer ? `"${first.pointer}" ` : 'The body ';
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return `${where}${first?.detail}${more}.`;
}

/** A run has no such request, or it is not the caller's to answer. */
export function inputNotFound(id: string): QueryError {
  return new QueryError('not_found', `The run has no request with the id ${JSON.stringify(id)}.`);
}

/** @param errors all faults of parameters of the URL, at least one; their pointers name the parameters */
export function invalidParameters(errors: FieldError[]): QueryError {
  const details = errors.map(({ pointer, detail }) => `The parameter "${pointer.slice(1)}" ${detail}.`);
  return new QueryError('invalid_query', details.join(' '), { errors });
}

/**
 * The owner has no such run.
 *
 * @example
 * throw runNotFound();
 */
export const runNotFound = (): QueryError => notFound('run');

export const sessionNotFound = (): QueryError => notFound('session');

/** The owner has no such run, or it has no such file. */
export const fileNotFound = (): QueryError => notFound('file');

function notFound(what: string): QueryError {
  return new QueryError('not_found', `There is no such ${what}, or it is no longer kept.`);
}

/** A run has no such delivery, or its endpoint is not configured any more. */
export const deliveryNotFound = (): QueryError => notFound('delivery');

/** The run has the file, but its content is no longer kept. */
export function fileExpired(cause?: unknown): QueryError {
  return new QueryError('file_expired', 'The content of this file is no longer kept.', {}, { cause });
}

/**
 * A run of the session has not ended.
 *
 * @param isAsking whether it waits for an answer. Default false
 *
 * @example
 * throw sessionBusy();
 */
export function sessionBusy(isAsking = false): QueryError {
  const why = isAsking
    ? 'This session waits for an answer. Answer what its run asks, or cancel the run: then send this query.'
    : 'A query of this session has not ended. Send this one when it has.';
  return new QueryError('session_busy', why);
}

/**
 * A run that is to be erased has not ended.
 *
 * @example
 * throw runBusy();
 */
export const runBusy = (): QueryError =>
  new QueryError('session_busy', 'The run has not ended. Erase it when it has.');

/** A run that is to be erased is a part of a session. */
export function runOfSession(sessionId: string): QueryError {
  const detail = `The run belongs to the session ${JSON.stringify(sessionId)}. Erase the session.`;
  return new QueryError('invalid_query', detail);
}

/** The store has no capability to erase single runs. */
export const runsUnerasable = (): QueryError =>
  new QueryError('invalid_query', 'The store of this service can erase sessions, but no runs.');

/** @param id of the session that was to be made */
export function sessionExists(id: string): QueryError {
  const detail = `There is a session with the id ${JSON.stringify(id)} already. Send another id, or none.`;
  return new QueryError('session_exists', detail);
}

/** A query replaces turns after one that its session does not have. */
export function nothingToReplace(afterTurn: number, turns: number): QueryError {
  const detail = `Session-After is ${afterTurn}, but the newest turn of the session is ${turns}. Send a number from 0 to ${turns}.`;
  return new QueryError('invalid_query', detail);
}

/** The store has no capability for forks and replaced turns. */
export function sessionsUnchangeable(): QueryError {
  return new QueryError(
    'invalid_query',
    'The store of this service can neither replace turns nor fork sessions.',
  );
}

export function sessionFull(maxWaiting: number): QueryError {
  const detail = `${maxWaiting} queries of this session are waiting, which is the limit. Try again when one of them has ended.`;
  return new QueryError('session_full', detail, { retryAfter: 5 });
}

export function atCapacity(waiting: number): QueryError {
  const detail = `The service is at capacity: all its slots are taken, and ${waiting} runs are waiting. Try again later.`;
  return new QueryError('at_capacity', detail, { retryAfter: 5 });
}

/** The long answers that callers have not read yet take as much memory as they may. */
export function answersAtCapacity(): QueryError {
  const detail =
    'The service is at capacity: callers have not read all of the long answers that it holds. Try again later, or ask for less.';
  return new QueryError('at_capacity', detail, { retryAfter: 5 });
}

export function ownerAtCapacity(maxWaiting: number): QueryError {
  const detail =
    maxWaiting === 0
      ? 'This query cannot start at once, and none of your queries may wait. Send it when another one of yours has ended.'
      : `${maxWaiting} of your queries are waiting, which is the limit for one caller. Send this one when another one has started.`;
  return new QueryError('rate_limited', detail, { retryAfter: 5 });
}

export function filesOfOwnerExceeded(maxBytes: number): QueryError {
  const detail =
    `The files of your queries that have not ended are larger than ${maxBytes} bytes together, which is the limit for one ` +
    'caller. Send this query when another one has ended.';
  return new QueryError('rate_limited', detail, { retryAfter: 5 });
}

/**
 * The files of an owner that no query uses would exceed the limit.
 *
 * @param maxBytes how many bytes they may have together
 *
 * @example
 * if ((await unusedBytesOf(owner)) + file.size > maxBytes) throw unusedFilesExceeded(maxBytes);
 */
export function unusedFilesExceeded(maxBytes: number): QueryError {
  const detail =
    `The files that you have sent and that no query uses would be larger than ${maxBytes} bytes together, which is the limit for ` +
    'one caller. Send a query that uses them, or send this file later: unused files expire after an hour.';
  return new QueryError('rate_limited', detail, { retryAfter: 60 });
}

/** @param errors the parts that name a file which the owner has not sent, or which is no longer kept */
export function filesMissing(errors: FieldError[]): QueryError {
  return new QueryError('file_missing', sentenceOf(errors), { errors });
}

/**
 * The process that executed the run does not own it any more.
 *
 * @example
 * throw interrupted();
 */
export function interrupted(): QueryError {
  return new QueryError('interrupted', 'The log of the run can no longer be written. Send the query again.');
}

export function idempotencyConflict(): QueryError {
  const detail = 'The Idempotency-Key was used with another query. Send a new key with a new query.';
  return new QueryError('idempotency_conflict', detail);
}

/**
 * The log no longer has what follows the cursor.
 *
 * @param after the cursor
 * @param oldest the number of the first envelope that is kept
 * @param latest the number of the last envelope
 *
 * @example
 * if (after + 1 < oldest) throw cursorExpired(after, oldest, latest);
 */
export function cursorExpired(after: number, oldest: number, latest: number): QueryError {
  const detail = `Envelope ${after + 1} is no longer kept. The log still has ${oldest} to ${latest}.`;
  return new QueryError('cursor_expired', detail, { oldest, latest });
}

export function storageFull(cause?: unknown): QueryError {
  const detail = 'There is no storage space left for files. Try again later.';
  return new QueryError('storage_full', detail, { retryAfter: 30 }, { cause });
}

/** The refusal for an error of the file system that occurred while a file was written or read; any other error as it is. */
export function refusalOfFiles(error: unknown): unknown {
  const { code, syscall, name } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') return storageFull(error);
  // A `File` whose bytes cannot be read has only this name.
  if (syscall === undefined && name !== 'NotReadableError') return error;
  const detail = 'The service cannot store or read files at present. Try again in a moment.';
  return new QueryError('unavailable', detail, { retryAfter: 2 }, { cause: error });
}

/** The limits that a caller can exceed, by the names that a problem states. */
export type CallerLimit = keyof typeof LIMIT_SENTENCES;

const LIMIT_SENTENCES = {
  fileBytes: (value: number) => `The file is larger than ${value} bytes.`,
  filesBytes: (value: number) => `The files are larger than ${value} bytes together.`,
  textBytes: (value: number) => `The text is longer than ${value} bytes.`,
  documentBytes: (value: number) => `The body has more than ${value} bytes besides the content of its files.`,
  values: (value: number) => `The body has more than ${value} JSON values.`,
  parts: (value: number) => `The query has more than ${value} parts.`,
  depth: (value: number) => `The body nests arrays and objects more than ${value} deep.`,
};

/** @param pointer the JSON Pointer of what exceeds the limit, if it is one value of the body: `/parts/2` or something inside of it */
export function limitExceeded(limit: CallerLimit, value: number, pointer = ''): QueryError {
  const sentence = LIMIT_SENTENCES[limit](value);
  const [, part] = /^\/parts\/(\d+)/.exec(pointer) ?? [];
  if (part !== undefined)
    return new QueryError('limit_exceeded', `Part ${part}: ${sentence}`, {
      limit,
      value,
      part: Number(part),
    });
  const where = pointer && `"${pointer}": `;
  const errors = pointer ? { errors: [{ pointer, detail: sentence }] } : {};
  return new QueryError('limit_exceeded', where + sentence, { limit, value, ...errors });
}

/** The rules of class-validator about the type of a value. Where one is broken, the other rules say nothing of use. */
const TYPE_RULES = [
  'isArray',
  'isBoolean',
  'isDate',
  'isDefined',
  'isInstance',
  'isInt',
  'isNumber',
  'isObject',
  'isString',
];

/** The faults that class-validator has found: one for each value, and none of what is inside of a value that has one itself. */
export function faultsOf(errors: ValidationError[], parent: string): FieldError[] {
  return errors.flatMap(({ property, constraints = {}, children = [] }) => {
    // A value without rules is a fault of the object itself.
    const pointer = property === undefined ? parent : pointerTo(parent, property);
    const broken = mostBasic(constraints);
    if (broken === undefined) return faultsOf(children, pointer);
    return [{ pointer, detail: detailOf(broken, property) }];
  });
}

/** The message of the broken rule about the type, or else of the one that is written first. class-validator lists the last one first. */
function mostBasic(constraints: Record<string, string>): string | undefined {
  const asWritten = Object.keys(constraints).reverse();
  const name = asWritten.find((each) => TYPE_RULES.includes(each)) ?? asWritten[0];
  return name === undefined ? undefined : constraints[name];
}

/** The messages of class-validator begin with the name of the property, which the pointer says already. */
function detailOf(text: string, property: string | undefined): string {
  const subject = [`${property} `, `nested property ${property} `].find((begin) => text.startsWith(begin));
  return subject === undefined ? text : text.slice(subject.length);
}

/** The JSON Pointer to a member of the value that `parent` points to (RFC 6901 §3). */
export function pointerTo(parent: string, property: string): string {
  return `${parent}/${property.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
