import { isDeepStrictEqual } from 'node:util';
import type {
  InputAnswer,
  InputOutcome,
  InputRequest,
  InputRequiredEnvelope,
  InputResolvedEnvelope,
  ResolvedInput,
  RunEnd,
  ToolResultEnvelope,
} from 'nest-agent-query-client';
import { QueryError } from '../contract/errors.js';
import { inputNotFound, sessionBusy } from '../contract/refusals.js';
import type { Asking, GivenAnswers } from './input-store.js';
import type { RunRecord, StoredInput } from './run-record.js';
import type { OnAsking } from './session-record.js';

/* What all stores do with the requests of runs in the same way. Times are milliseconds since the epoch. */

/**
 * How a run ends if a request expires whose `onExpire` is `fail`.
 *
 * @example
 * if (!expiredOf(inputs, Date.now())) await end(run, EXPIRED);
 */
export const EXPIRED: RunEnd = {
  status: 'failed',
  error: { code: 'input_expired', message: 'The run needed an answer, and nobody has given one in time.' },
};

/** Why a call that was asked for has no result. */
const NOT_EXECUTED: Partial<Record<InputOutcome, string>> = {
  superseded: 'Not executed: the user has sent another message instead of an answer.',
  cancelled: 'Not executed: the run was ended before the answer.',
  expired: 'Not executed: nobody has answered in time.',
};

/**
 * When a run asks that has asked before: the requests of one pause have the same time, and no two pauses have, however soon one
 * follows the other.
 *
 * @param known what the run has asked before, in this order
 *
 * @example
 * const at = pausedAt(Date.now(), await this.of(run));
 */
export function pausedAt(now: number, known: readonly Pick<StoredInput, 'askedAt'>[]): number {
  return Math.max(now, (known.at(-1)?.askedAt ?? -Infinity) + 1);
}

/**
 * The requests of a pause with the times at which they expire, and the envelope that the log gets.
 *
 * @example
 * const { requests, text } = askedAt(Date.now(), asking);
 */
export function askedAt(now: number, asking: Asking): { requests: InputRequest[]; text: string } {
  const requests = asking.requests.map(({ expiresInMs, onExpire, ...request }): InputRequest => {
    return { ...request, expiresAt: new Date(now + expiresInMs).toISOString(), onExpire };
  });
  const envelope: InputRequiredEnvelope = { type: 'input_required', data: { requests } };
  return { requests, text: JSON.stringify(envelope) };
}

/**
 * Refuses a question of a run, because too many runs of its owner ask.
 *
 * @throws {QueryError} `rate_limited`
 *
 * @example
 * refuseToAsk(runsThatAsk.length, asking.maxAsking);
 */
export function refuseToAsk(asking: number, maxAsking: number): void {
  if (asking < maxAsking) return;
  const detail = `${maxAsking} of your runs wait for answers, which is the limit. Answer or cancel some of them.`;
  throw new QueryError('rate_limited', detail, { retryAfter: 60 });
}

/**
 * Compares answers with what has become of their requests, before anything is written.
 *
 * @param inputs all requests of the run
 * @returns what the requests that are still open become; empty if all these answers were given before
 * @throws {QueryError} see `InputStore.answer`
 *
 * @example
 * const resolved = answersTo(inputs, run, given, Date.now());
 */
export function answersTo(
  inputs: readonly StoredInput[],
  run: Pick<RunRecord, 'end'>,
  { answers, by }: Pick<GivenAnswers, 'answers' | 'by'>,
  now: number,
): ResolvedInput[] {
  const others: ResolvedInput[] = [];
  const resolved: ResolvedInput[] = [];
  for (const answer of answers) {
    const input = inputs.find(({ request }) => request.id === answer.id);
    if (!input) throw inputNotFound(answer.id);
    if (input.resolved && !isSame(input.resolved, answer)) others.push(shownOf(input));
    else if (!input.resolved) resolved.push(resolvedInput(answer, by, now));
  }
  if (others.length > 0) throw alreadyResolved(others);
  const late = inputs.find(({ request, resolved: was }) => {
    return !was && expiresAt(request) <= now && answers.some(({ id }) => id === request.id);
  });
  if (late) throw inputExpired([]);
  if (resolved.length > 0 && run.end) throw runEnded();
  return resolved;
}

/**
 * What open requests of a run become when they have expired; undefined if the run fails because of one of them.
 *
 * @example
 * const resolved = expiredOf(inputs, Date.now());
 */
export function expiredOf(inputs: readonly StoredInput[], now: number): ResolvedInput[] | undefined {
  const expired = inputs.filter(({ resolved, request }) => !resolved && expiresAt(request) <= now);
  if (expired.some(({ request }) => request.onExpire === 'fail')) return undefined;
  return expired.map(({ request: { id, onExpire } }) => {
    const value = typeof onExpire === 'object' ? { value: onExpire.value } : {};
    return { id, outcome: 'expired', ...value, by: null, at: new Date(now).toISOString() };
  });
}

/**
 * When a request expires.
 *
 * @example
 * const isLate = expiresAt(request) <= Date.now();
 */
export function expiresAt(request: InputRequest): number {
  return Date.parse(request.expiresAt);
}

/**
 * The envelope that says how requests were resolved: without the values of private ones.
 *
 * @example
 * lines.push(resolvedText(inputs, resolved));
 */
export function resolvedText(inputs: readonly StoredInput[], resolved: readonly ResolvedInput[]): string {
  const answers = resolved.map((each) => {
    const input = inputs.find(({ request }) => request.id === each.id)!;
    return shownOf({ ...input, resolved: each });
  });
  return JSON.stringify({ type: 'input_resolved', data: { answers } } satisfies InputResolvedEnvelope);
}

/**
 * What the open requests of a run become when it ends, and the envelopes that the log gets before `done`: with a result for
 * each call that was asked for, so that the history of the session has no call without one.
 *
 * @param outcome why it ends. A request that has expired is `expired` in any case
 *
 * @example
 * const { resolved, texts } = closedBy(inputs, 'cancelled', Date.now());
 */
export function closedBy(
  inputs: readonly StoredInput[],
  outcome: 'superseded' | 'cancelled',
  now: number,
): { resolved: ResolvedInput[]; texts: string[] } {
  const open = inputs.filter((input) => !input.resolved);
  if (open.length === 0) return { resolved: [], texts: [] };
  const resolved = open.map(({ request }): ResolvedInput => {
    const was: InputOutcome = expiresAt(request) <= now ? 'expired' : outcome;
    return { id: request.id, outcome: was, by: null, at: new Date(now).toISOString() };
  });
  const results = open.flatMap(({ request: { toolCallId } }, index): ToolResultEnvelope[] => {
    if (toolCallId === undefined) return [];
    const content = NOT_EXECUTED[resolved[index]!.outcome];
    return [{ type: 'tool_result', data: { id: toolCallId, content, isError: true } }];
  });
  return { resolved, texts: [resolvedText(open, resolved), ...results.map((each) => JSON.stringify(each))] };
}

/** How a request was resolved, as callers may see it: without the value of a private one. */
export function shownOf({ request, resolved }: StoredInput): ResolvedInput {
  if (!request.private) return resolved!;
  const { value: _, ...shown } = resolved!;
  return shown;
}

/**
 * Whether a newer query ends the run of its session that asks. If not, it waits behind that run.
 *
 * @param holds whether an open request of the run has `hold`
 * @throws {QueryError} `session_busy`
 *
 * @example
 * if (supersedes(admission.session, holds)) end(ahead[0]);
 */
export function supersedes(
  { onAsking, policy }: { onAsking?: OnAsking; policy: string },
  holds: boolean,
): boolean {
  if (onAsking === 'reject' || (holds && policy === 'reject')) throw sessionBusy(true);
  return onAsking !== 'enqueue' && !holds;
}

function resolvedInput({ id, outcome, value }: InputAnswer, by: string, now: number): ResolvedInput {
  const at = new Date(now).toISOString();
  return { id, outcome, ...(outcome === 'answered' && { value }), by, at };
}

function isSame(resolved: ResolvedInput, answer: InputAnswer): boolean {
  const isAnswered = answer.outcome === 'answered';
  return (
    resolved.outcome === answer.outcome && (!isAnswered || isDeepStrictEqual(resolved.value, answer.value))
  );
}

function runEnded(outcome?: InputOutcome): QueryError {
  const isSuperseded = outcome === 'superseded';
  const why = isSuperseded
    ? 'A newer message was sent instead of an answer, so the question was withdrawn. '
    : '';
  return new QueryError('run_ended', `${why}The run has ended, and needs no answer any more.`);
}

function inputExpired(answers: ResolvedInput[]): QueryError {
  return new QueryError('input_expired', 'The answer comes too late: the request has expired.', { answers });
}

/** Somebody else was faster, the time is over, or the run has ended. */
function alreadyResolved(answers: ResolvedInput[]): QueryError {
  const [{ outcome, at, id }] = answers as [ResolvedInput];
  if (outcome === 'expired') return inputExpired(answers);
  if (outcome === 'superseded' || outcome === 'cancelled') return runEnded(outcome);
  const detail = `The request ${JSON.stringify(id)} was ${outcome} at ${at} in another way. That answer counts.`;
  return new QueryError('input_resolved', detail, { answers });
}
