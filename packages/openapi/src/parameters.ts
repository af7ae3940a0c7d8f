import { ApiHeader, ApiParam, ApiQuery } from '@nestjs/swagger';
import type { ErrorCode } from 'nest-agent-query';

/* What several routes have: parameters, and what they refuse with. */

/** What every route may refuse with. */
export const ALWAYS: ErrorCode[] = ['unauthorized', 'forbidden', 'rate_limited', 'internal', 'unavailable'];

/** What every route with a body may refuse with. */
export const READ_BODY: ErrorCode[] = [
  ...(['invalid_json', 'invalid_query', 'body_timeout', 'limit_exceeded'] as const),
  ...(['unsupported_media_type', 'unsupported_encoding'] as const),
];

export const RUN_ID = ApiParam({
  name: 'runId',
  schema: { type: 'string' },
  description: 'The id of the run.',
});

export const SESSION_ID = ApiParam({
  name: 'sessionId',
  schema: { type: 'string' },
  description: '`kwargs.session_id` of the queries.',
});

export const LAST_EVENT_ID = ApiHeader({
  name: 'Last-Event-ID',
  required: false,
  schema: { type: 'string', example: '9f6c2b1e-6f0e-4b6f-8f5c-0c1d8a2b3c4d.3' },
  description: '`{runId}.{seq}`, the id of the last event that you have: the stream continues after it.',
});

/** A parameter of the query. */
export function parameter(name: string, description: string, schema: object = { type: 'string' }) {
  return ApiQuery({ name, required: false, schema, description });
}

export const wholeNumber = (name: string, minimum: number, rest: object, description: string) =>
  parameter(name, description, { type: 'integer', minimum, ...rest });

/** The parameters of a page of a list. */
export const LIST_PAGE = [
  parameter('after', '`next` of the page before.'),
  wholeNumber('limit', 1, { maximum: 500, default: 50 }, 'How many entries the page has at most.'),
];
