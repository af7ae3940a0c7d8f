import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiExtraModels,
  ApiHeader,
  ApiOperation,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { DELIVERY_OPERATIONS } from './delivery-operations.js';
import { FILE_OPERATIONS } from './file-operations.js';
import { INPUT_OPERATIONS } from './input-operations.js';
import {
  METADATA,
  QueryFilePart,
  QueryFork,
  QueryRun,
  QueryRunList,
  QuerySession,
  QuerySessionList,
  QuerySessionPage,
  QueryTextPart,
  QueryTurnFile,
  QueryTurnText,
  QueryUsageList,
  TURN_ENVELOPES,
} from './models.js';
import {
  ALWAYS,
  LAST_EVENT_ID,
  LIST_PAGE,
  parameter,
  READ_BODY,
  RUN_ID,
  SESSION_ID,
  wholeNumber,
} from './parameters.js';
import {
  ACCEPTED_HEADERS,
  SESSION_LOCATION,
  problemResponses,
  jsonResponse,
  streamResponse,
} from './responses.js';
import { RUN_STATUSES, unionOf } from './schemas.js';

const DAY = { type: 'string', format: 'date' };

/** The body of a query. `kwargs` is the class of the host; undefined where it has none. */
function queryBody(kwargs: Type | undefined): MethodDecorator {
  const sessionId = {
    type: 'object' as const,
    properties: { session_id: { type: 'string' as const, description: 'Names a conversation.' } },
    additionalProperties: true,
  };
  return applyDecorators(
    ApiExtraModels(QueryTextPart, QueryFilePart, ...(kwargs ? [kwargs] : [])),
    ApiConsumes('application/json'),
    ApiBody({
      required: true,
      schema: {
        type: 'object',
        required: ['parts'],
        properties: {
          parts: {
            type: 'array',
            minItems: 1,
            description: 'Texts and files, in any order.',
            items: unionOf('type', { text: QueryTextPart, file: QueryFilePart }),
          },
          metadata: { ...METADATA, description: 'What the run, and lists of runs, say of the query.' },
          kwargs: kwargs ? { allOf: [{ $ref: getSchemaPath(kwargs) }, sessionId] } : sessionId,
        },
      },
    }),
  );
}

/** How a route is described, by the name of its method. */
export const OPERATIONS: Readonly<Record<string, (kwargs: Type | undefined) => MethodDecorator>> = {
  submit: (kwargs) =>
    applyDecorators(
      ApiOperation({
        summary: 'Ask the agent',
        description:
          'Starts a run and streams its answer; resumes a run with `Last-Event-ID`; finds the run of a repeated query with ' +
          '`Idempotency-Key`.',
      }),
      queryBody(kwargs),
      LAST_EVENT_ID,
      ApiHeader({
        name: 'Idempotency-Key',
        required: false,
        schema: { type: 'string', minLength: 1, maxLength: 257 },
        description: 'A repeated query with the same key does not run the agent again.',
      }),
      ApiHeader({
        name: 'Session-After',
        required: false,
        schema: { type: 'integer', minimum: 0 },
        description: 'The query replaces the turns of its session after this number.',
      }),
      ApiHeader({
        name: 'Prefer',
        required: false,
        schema: { type: 'string', example: 'respond-async' },
        description: '`respond-async`: answer 202 with the run, and do not stream.',
      }),
      streamResponse('The stream of the run.'),
      jsonResponse(202, 'The run is admitted; no stream follows.', QueryRun, { headers: ACCEPTED_HEADERS }),
      problemResponses([
        'file_missing',
        ...READ_BODY,
        ...ALWAYS,
        'not_found',
        'session_busy',
        'cursor_expired',
        'idempotency_conflict',
        'session_full',
        'budget_exceeded',
        'at_capacity',
        'draining',
        'storage_full',
      ]),
    ),
  runs: () =>
    applyDecorators(
      ApiOperation({ summary: 'List your runs, newest first' }),
      parameter('session', 'Only runs of this session.'),
      parameter('status', 'Only runs with this status.', {
        type: 'string',
        enum: RUN_STATUSES,
      }),
      parameter(
        'metadata.key',
        'Only runs with this value of the key `key` of their metadata; any number of them.',
      ),
      ...LIST_PAGE,
      jsonResponse(200, 'A page of runs.', QueryRunList),
      problemResponses(['invalid_query', ...ALWAYS]),
    ),
  sessions: () =>
    applyDecorators(
      ApiOperation({ summary: 'List your sessions, last used first' }),
      ...LIST_PAGE,
      jsonResponse(200, 'A page of sessions.', QuerySessionList),
      problemResponses(['invalid_query', ...ALWAYS]),
    ),
  usage: () =>
    applyDecorators(
      ApiOperation({ summary: 'Add up what the models have used for you' }),
      parameter('by', 'What is added up in one sum.', {
        type: 'string',
        enum: ['session', 'model', 'day'],
        default: 'day',
      }),
      parameter('from', 'The first day, in UTC. Default: the first of the month of the last one.', DAY),
      parameter('to', 'The last day, in UTC. Default: today.', DAY),
      parameter('session', 'Only the usage of this session.'),
      ...LIST_PAGE,
      jsonResponse(200, 'A page of sums, last used first.', QueryUsageList),
      problemResponses(['invalid_query', ...ALWAYS]),
    ),
  ...INPUT_OPERATIONS,
  ...DELIVERY_OPERATIONS,
  ...FILE_OPERATIONS,
  run: () =>
    applyDecorators(
      ApiOperation({ summary: 'Follow a run, or look at it' }),
      RUN_ID,
      LAST_EVENT_ID,
      parameter('lastEventId', 'The same as `Last-Event-ID`, if there is no such header.'),
      wholeNumber(
        'after',
        0,
        {},
        'The number of the last event that you have, if there is neither of these.',
      ),
      ApiExtraModels(QueryRun),
      streamResponse('The stream of the run where `Accept` prefers it, otherwise the run.', {
        'application/json': { schema: { $ref: getSchemaPath(QueryRun) } },
      }),
      ApiResponse({ status: 204, description: 'The run has ended, and you have its last event.' }),
      problemResponses(['invalid_query', ...ALWAYS, 'not_found', 'cursor_expired']),
    ),
  cancel: () =>
    applyDecorators(
      ApiOperation({ summary: 'Cancel a run, or erase it' }),
      RUN_ID,
      parameter('erase', 'Whether the run is erased, if it has no session.', {
        type: 'boolean',
        default: false,
      }),
      jsonResponse(200, 'The handler has stopped, or the run had ended before.', QueryRun),
      jsonResponse(202, 'The handler has not stopped in time; its run has ended all the same.', QueryRun),
      ApiResponse({ status: 204, description: 'The run is erased.' }),
      problemResponses(['invalid_query', ...ALWAYS, 'not_found', 'session_busy']),
    ),
  session: () =>
    applyDecorators(
      ApiOperation({ summary: 'List the turns of a session' }),
      SESSION_ID,
      wholeNumber('after', 0, { default: 0 }, 'How many turns to skip: `next` of the page before.'),
      wholeNumber('limit', 1, { maximum: 500, default: 50 }, 'How many turns the page has at most.'),
      jsonResponse(200, 'A page of turns.', QuerySessionPage, {
        parts: [QueryTurnText, QueryTurnFile, ...Object.values(TURN_ENVELOPES)],
      }),
      problemResponses(['invalid_query', ...ALWAYS, 'not_found']),
    ),
  fork: () =>
    applyDecorators(
      ApiOperation({ summary: 'Make a session that begins with the first turns of this one' }),
      SESSION_ID,
      ApiConsumes('application/json'),
      ApiBody({ required: true, type: QueryFork }),
      jsonResponse(201, 'The new session.', QuerySession, { headers: SESSION_LOCATION }),
      problemResponses([...READ_BODY, ...ALWAYS, 'not_found', 'session_exists']),
    ),
  erase: () =>
    applyDecorators(
      ApiOperation({ summary: 'Erase a session: its turns, runs, logs and files' }),
      SESSION_ID,
      ApiResponse({ status: 204, description: 'The session is erased.' }),
      problemResponses([...ALWAYS, 'not_found', 'session_busy']),
    ),
};
