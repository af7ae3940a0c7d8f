import { setTimeout as delay } from 'node:timers/promises';
import { Caller } from './caller.js';
import { type ConformancePromise, EDITION, type Level, LEVELS } from './promise.js';
import { PROMISES } from './promises/index.js';
import type { Report, Result } from './report.js';
import { say } from './script.js';
import { NotChecked, printable, shown, Unmet } from './unmet.js';
import type { Target } from './wire/target.js';

/** What is checked, and how. */
export interface Extent {
  /** Default: all levels. */
  levels?: readonly Level[];
  /** The ids of promises: of the levels, only these are checked. Default: all. */
  only?: readonly string[];
  /** The longest wait for anything, in milliseconds, from 1. It must be longer than twice the keep-alive of the service. Default 25,000. */
  waitMs?: number;
  /** Told of each result as soon as it is there. */
  onResult?: (result: Result) => void;
  /** Ends the checks: the report has the results until then. */
  signal?: AbortSignal;
}

/**
 * Nothing of a target can be checked: nobody answers, or not the agent that follows scripts. The message says what to do.
 *
 * @example
 * await checkConformance(target).catch((error) => {
 *   if (error instanceof CannotCheck) console.error(error.message);
 *   else throw error;
 * });
 */
export class CannotCheck extends Error {}

/** An interrupted check gets this long to end what it has begun. */
const CLOSE_MS = 2_000;

/**
 * Checks a service, promise by promise. The service must serve an agent that follows scripts: docs/conformance.md has it.
 *
 * @throws {CannotCheck} nobody answers, the credential is refused, or the agent does not follow scripts. The message says what to do
 * @example
 * const report = await checkConformance({ endpoint: new URL('http://127.0.0.1:3000/query') }, { levels: ['core'] });
 * process.exitCode = report.exitCode;
 */
export async function checkConformance(target: Target, extent: Extent = {}): Promise<Report> {
  const { levels = Object.keys(LEVELS) as Level[], only, waitMs = 25_000, onResult, signal } = extent;
  const chosen = PROMISES.filter(({ id, level }) => levels.includes(level) && (only?.includes(id) ?? true));
  await requireScriptedAgent(new Caller(target, waitMs));
  const results: Result[] = [];
  for (const promise of chosen) {
    const result = await resultOf(promise, new Caller(target, waitMs), signal);
    if (signal?.aborted) break;
    results.push(result);
    onResult?.(result);
  }
  const hasFailed = results.some(({ outcome }) => outcome === 'failed');
  return {
    edition: EDITION,
    endpoint: target.endpoint.href,
    levels,
    results,
    isComplete: results.length === chosen.length,
    exitCode: hasFailed || results.length < chosen.length ? 1 : 0,
  };
}

async function resultOf(promise: ConformancePromise, caller: Caller, signal?: AbortSignal): Promise<Result> {
  const { id, level, edition, section, sentence } = promise;
  const begun = performance.now();
  const over = new AbortController();
  const found = await Promise.race([
    promise.check(caller),
    ...(signal ? [aborted(AbortSignal.any([signal, over.signal]))] : []),
  ]).then(() => ({ outcome: 'passed' }) as const, findingOf);
  over.abort();
  const ms = Math.round(performance.now() - begun);
  await Promise.race([caller.close(), delay(CLOSE_MS, undefined, { ref: false })]);
  return { id, level, edition, section, sentence, ...found, ms };
}

/** Rejects when a signal is aborted. */
async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  throw new NotChecked('it was interrupted');
}

function findingOf(error: unknown): Pick<Result, 'outcome' | 'expected' | 'seen' | 'reason'> {
  if (error instanceof NotChecked) return { outcome: 'skipped', reason: error.message };
  if (error instanceof Unmet) return { outcome: 'failed', expected: error.expected, seen: error.seen };
  // A check reads what it was sent: JSON of another shape is no defect of the check.
  const seen = error instanceof Error ? error.message : shown(error);
  return {
    outcome: 'failed',
    expected: 'an answer of the shape that the interface describes',
    seen: printable(seen),
  };
}

/** @throws {CannotCheck} */
async function requireScriptedAgent(caller: Caller): Promise<void> {
  const { href } = caller.target.endpoint;
  try {
    const reply = await caller.submit([say(caller.token)]);
    const body = await reply.text();
    if (reply.status !== 200) throw new CannotCheck(refusalText(href, reply.status, body));
    // An agent that repeats its question has the token too, and the step around it.
    if (!body.includes(caller.token) || /\bemit\b/.test(body))
      throw new CannotCheck(
        `The agent at ${href} does not follow scripts. Serve one of examples/conformance: docs/conformance.md says how.`,
      );
  } catch (error) {
    if (error instanceof Unmet)
      throw new CannotCheck(`Nothing answers at ${href} as a service does: ${error.seen}. Is this its URL?`);
    throw error;
  } finally {
    await caller.close();
  }
}

function refusalText(href: string, status: number, body: string): string {
  const advice =
    status === 401 || status === 403
      ? `Send a credential: --header 'Authorization: Bearer …'.`
      : 'Give the URL of the endpoint, such as http://127.0.0.1:3000/query.';
  return `A query to ${href} was refused with ${status}: ${printable(body)}. ${advice}`;
}
