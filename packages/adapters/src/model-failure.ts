import { type ErrorCode, QueryError } from 'nest-agent-query';
import { type ErrorFacts, factsOf } from './error-facts.js';

/** How endpoints say that a conversation has more tokens than the model can take. */
const TOO_LONG =
  /context.?(?:length|window|size)|maximum context|too many (?:input )?tokens|prompt is too long|input (?:token count|length|is too long)|token limit|reduce the length/i;

/** How endpoints say that they refuse a text because of what it is about. */
const FILTERED = /content.?filter|ResponsibleAIPolicyViolation|content management policy/i;

const QUOTA_USED_UP = /insufficient.?quota|exceeded your current quota|billing/i;
const TOO_MANY = /rate.?limit/i;
const OVERLOADED = /overloaded|server.?error|internal.?error|unavailable/i;

/** Errors of frameworks that say that an answer has no end. */
const NO_END =
  /ended without a finish|without a finish chunk|^terminated$|premature close|other side closed/im;

/** The system's and the HTTP client's codes of connections that were never made. */
const NOT_CONNECTED = /^(?:ECONNREFUSED|ENOTFOUND|EAI|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT)/;
const CUT = /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET|ERR_STREAM_PREMATURE_CLOSE)$/;
const TIMED_OUT = /^(?:ETIMEDOUT|UND_ERR_(?:HEADERS|BODY)_TIMEOUT)$/;

/** Errors of frameworks that say that a response is not what the interface of the endpoint is. */
const UNREADABLE = /JSONParseError|TypeValidationError|InvalidResponseData|EmptyResponseBody/;

/** Errors of providers that find neither an option nor a variable with what they need. */
const UNCONFIGURED = /LoadAPIKeyError|LoadSettingError/;

/**
 * What the failure of a model means for the run, as the caller may read it. The operator's log gets the cause.
 *
 * @param error of the framework, of its HTTP client, or what the endpoint has sent as an error
 * @param hasBegun whether the model has already answered something
 * @returns undefined if the error is no failure of a model
 *
 * @example
 * throw modelFailure(error, hasBegun) ?? error;
 */
export function modelFailure(error: unknown, hasBegun: boolean): QueryError | undefined {
  if (error instanceof QueryError) return error;
  const facts = factsOf(error);
  const [code, sentence] = ofResponse(facts) ?? ofConnection(facts, hasBegun) ?? ofContent(facts) ?? [];
  if (!code || sentence === undefined) return undefined;
  return new QueryError(code, sentence, {}, { cause: causeOf(error, facts) });
}

/**
 * The answer of a model has no end.
 *
 * @example
 * if (!hasFinished) throw cutModel();
 */
export function cutModel(cause?: unknown): QueryError {
  return new QueryError(...CUT_OFF, {}, { cause });
}

type Failure = [code: ErrorCode, sentence: string];

const CUT_OFF: Failure = [
  'interrupted',
  'The connection to the model was cut before its answer was complete. Send the query again.',
];
const USED_UP: Failure = ['rate_limited', 'The quota at the endpoint of the model is used up.'];
const TOO_FAST: Failure = ['rate_limited', 'The model gets too many requests. Try again later.'];

function ofResponse({ status, text }: ErrorFacts): Failure | undefined {
  if (TOO_LONG.test(text) && (status === undefined || (status >= 400 && status <= 500)))
    return [
      'limit_exceeded',
      'The conversation is longer than the model can take. Send less, or begin a new session.',
    ];
  if (status === undefined || status < 400) return undefined;
  if (status === 401 || status === 403)
    return [
      'handler_failed',
      'The endpoint of the model refuses the credential of this service. Its operator must look at the log.',
    ];
  if (status === 404)
    return [
      'handler_failed',
      'The endpoint does not know the model, or there is none at its address. The operator must look at the log.',
    ];
  if (status === 402 || (status === 429 && QUOTA_USED_UP.test(text))) return USED_UP;
  if (status === 429) return TOO_FAST;
  if (status === 408 || status >= 500)
    return ['unavailable', `The endpoint of the model failed with the status ${status}. Try again later.`];
  if (FILTERED.test(text))
    return [
      'handler_failed',
      'The endpoint of the model refuses the text because of its content. Ask again in other words, or without the files: ' +
        'what was refused is not sent again.',
    ];
  return [
    'handler_failed',
    `The endpoint of the model refused the request with the status ${status}. Ask again without the files, or in other ` +
      'words: what was refused is not sent again. The service has logged the cause.',
  ];
}

function ofConnection({ systemCode = '', text, names }: ErrorFacts, hasBegun: boolean): Failure | undefined {
  if (NOT_CONNECTED.test(systemCode))
    return ['unavailable', 'The endpoint of the model cannot be reached. Try again later.'];
  if (TIMED_OUT.test(systemCode) || names.includes('TimeoutError'))
    return ['unavailable', 'The model was silent for too long. Try again later.'];
  if (CUT.test(systemCode) && !hasBegun)
    return ['unavailable', 'The endpoint of the model closed the connection. Try again later.'];
  return CUT.test(systemCode) || NO_END.test(text) ? CUT_OFF : undefined;
}

function ofContent({ text, names, status }: ErrorFacts): Failure | undefined {
  if (names.some((name) => UNREADABLE.test(name)) || status === 200)
    return [
      'handler_failed',
      'The endpoint of the model sent an answer that cannot be read. The service has logged the cause.',
    ];
  if (names.some((name) => UNCONFIGURED.test(name)))
    return [
      'handler_failed',
      'The service has no credential or no address for the endpoint of the model. Its operator must look at the log.',
    ];
  if (QUOTA_USED_UP.test(text)) return USED_UP;
  if (TOO_MANY.test(text)) return TOO_FAST;
  if (OVERLOADED.test(text)) return ['unavailable', 'The endpoint of the model failed. Try again later.'];
  return undefined;
}

/** For the log: an error of a client has the whole request, and that has the whole conversation. */
function causeOf(error: unknown, { status, text }: ErrorFacts): unknown {
  if (status === undefined) return error;
  return new Error(`The endpoint of the model answered ${status}: ${text}`);
}
