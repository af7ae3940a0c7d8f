import { QueryError } from 'nest-agent-query';
import { cutModel, modelFailure } from 'nest-agent-query-adapters';
import { membersOf } from './members.js';

const AUTHENTICATION_REQUIRED = -32000;
const DEPTH = 4;
const MOST_TEXTS = 20;
const TEXT_LENGTH = 2_000;

/** How the agents write the status of the model's endpoint into their texts. */
const STATUS =
  /\b(?:status(?: code)?|HTTP(?:\/[\d.]+)?|error)\b\W{0,3}([45]\d\d)\b|^\W*([45]\d\d)\b|\b([45]\d\d) (?:Unauthorized|Forbidden|Too Many|Bad |Internal|Service|Gateway|Payment|Not Found)/im;

/** How they say that the model's stream was cut. */
const CUT =
  /^terminated$|stream (?:disconnected|closed|ended) before|premature close|connection (?:was )?reset|\bECONNRESET\b|socket hang up/im;
const NOT_REACHED = /error sending request|ECONNREFUSED|ENOTFOUND|connection refused|fetch failed/i;

/** What JSON-RPC itself says, alone or before the cause: it is not the model's endpoint that has failed inside. */
const OF_JSON_RPC = /^internal error(?:\.?$|: *)/i;

/**
 * What an error means for the run, in words for callers: never what the agent has said, which may have addresses and secrets.
 * The cause has it, for the log.
 *
 * @param error of a request to the agent: of JSON-RPC (`code`, `message`, `data`), or that the agent has closed its output
 * @param hasBegun whether the model has already answered something
 */
export function agentFailure(error: unknown, hasBegun: boolean): QueryError {
  if (error instanceof QueryError) return error;
  const { code, message, data } = membersOf(error);
  if (typeof code !== 'number') return endedEarly(error);
  const texts = textsOf([message, data])
    .map((text) => text.replace(OF_JSON_RPC, ''))
    .filter((text) => text !== '');
  const cause = new Error(`The agent answered the error ${code}: ${texts.join('\n')}`, { cause: error });
  return ofTexts(code, texts.join('\n'), statusIn(data), hasBegun, cause);
}

/** What an error means that the agent has given as a text of its answer. */
export function saidFailure(text: string, hasBegun: boolean): QueryError {
  const cause = new Error(`The agent said: ${text.slice(0, TEXT_LENGTH)}`);
  return ofTexts(0, text.slice(0, TEXT_LENGTH), undefined, hasBegun, cause);
}

function ofTexts(
  code: number,
  text: string,
  told: number | undefined,
  hasBegun: boolean,
  cause: Error,
): QueryError {
  if (code === AUTHENTICATION_REQUIRED) return notSignedIn(cause);
  if (CUT.test(text)) return NOT_REACHED.test(text) && !hasBegun ? notReached(cause) : cutModel(cause);
  if (NOT_REACHED.test(text)) return notReached(cause);
  const status = told ?? (code >= 400 && code < 600 ? code : statusOfText(text));
  const failure = modelFailure({ ...(status !== undefined && { status }), message: text }, hasBegun);
  if (failure) return new QueryError(failure.code, failure.detail, {}, { cause });
  return failed('The agent failed. The service has logged the cause.', cause);
}

function notSignedIn(cause: Error): QueryError {
  return failed('The agent must be signed in by the operator of this service.', cause);
}

function notReached(cause: Error): QueryError {
  const detail = 'The endpoint of the model cannot be reached. Try again later.';
  return new QueryError('unavailable', detail, {}, { cause });
}

function endedEarly(cause: unknown): QueryError {
  const detail = 'The agent ended before its answer was complete. Send the query again.';
  return new QueryError('interrupted', detail, {}, { cause });
}

function failed(detail: string, cause: Error): QueryError {
  return new QueryError('handler_failed', detail, {}, { cause });
}

function statusOfText(text: string): number | undefined {
  const [, ...found] = STATUS.exec(text) ?? [];
  const status = found.find((each) => each !== undefined);
  return status === undefined ? undefined : Number(status);
}

/** All texts of a value, in its order. */
function textsOf(value: unknown, depth = DEPTH): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value.slice(0, TEXT_LENGTH)];
  if (typeof value !== 'object' || value === null || depth === 0) return [];
  return Object.values(value)
    .slice(0, MOST_TEXTS)
    .flatMap((each) => textsOf(each, depth - 1))
    .slice(0, MOST_TEXTS);
}

/** A status that a member is named after, such as Codex's `http_status_code`. */
function statusIn(value: unknown, depth = DEPTH): number | undefined {
  if (depth === 0) return undefined;
  for (const [name, each] of Object.entries(membersOf(value)).slice(0, MOST_TEXTS)) {
    if (typeof each === 'number' && /status/i.test(name) && each >= 400 && each < 600) return each;
    const inside = statusIn(each, depth - 1);
    if (inside !== undefined) return inside;
  }
  return undefined;
}
