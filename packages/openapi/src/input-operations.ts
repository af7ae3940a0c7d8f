import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiExtraModels, ApiOperation, getSchemaPath } from '@nestjs/swagger';
import { QueryInputAnswer, QueryInputList, QueryRunInputs } from './input-models.js';
import { QueryRun } from './models.js';
import { ALWAYS, LAST_EVENT_ID, LIST_PAGE, READ_BODY, RUN_ID } from './parameters.js';
import { jsonResponse, problemResponses, streamResponse } from './responses.js';

/** The body with which a caller answers what a run asks. */
const ANSWERS_BODY = applyDecorators(
  ApiExtraModels(QueryInputAnswer),
  ApiConsumes('application/json'),
  ApiBody({
    required: true,
    schema: {
      type: 'object',
      required: ['answers'],
      properties: {
        answers: {
          type: 'array',
          minItems: 1,
          maxItems: 64,
          description: 'All of them count, or none.',
          items: { $ref: getSchemaPath(QueryInputAnswer) },
        },
      },
    },
  }),
);

/** How the routes for what runs ask are described, by the names of their methods. */
export const INPUT_OPERATIONS: Readonly<Record<string, () => MethodDecorator>> = {
  openInputs: () =>
    applyDecorators(
      ApiOperation({ summary: 'List what your runs ask, newest first' }),
      ...LIST_PAGE,
      jsonResponse(200, 'A page of open requests.', QueryInputList),
      problemResponses(['invalid_query', ...ALWAYS]),
    ),
  inputs: () =>
    applyDecorators(
      ApiOperation({ summary: 'List what a run has asked, with the answers' }),
      RUN_ID,
      jsonResponse(200, 'The requests of the run.', QueryRunInputs),
      problemResponses([...ALWAYS, 'not_found']),
    ),
  answer: () =>
    applyDecorators(
      ApiOperation({
        summary: 'Answer what a run asks',
        description: 'The run goes on as soon as no request is open. The same answer again is accepted.',
      }),
      RUN_ID,
      LAST_EVENT_ID,
      ANSWERS_BODY,
      ApiExtraModels(QueryRun),
      streamResponse(
        'The stream of the run from the answer on where `Accept` prefers it, otherwise the run.',
        {
          'application/json': { schema: { $ref: getSchemaPath(QueryRun) } },
        },
      ),
      problemResponses([
        ...READ_BODY,
        'invalid_answer',
        ...ALWAYS,
        'not_found',
        'input_resolved',
        'input_expired',
        'run_ended',
        'cursor_expired',
      ]),
    ),
};
