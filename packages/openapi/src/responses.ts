import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import type { ErrorCode } from 'nest-agent-query';
import { STATUS_OF_CODE } from 'nest-agent-query/protocol';
import { ENVELOPES, QueryProblem } from './models.js';

const STREAM_EXAMPLE =
  'data: {"type":"message","data":{"content":"Hello"}}\n\ndata: {"type":"done","data":{"status":"completed"}}\n\n';

const text = (description: string) => ({ description, schema: { type: 'string' as const } });

const LOCATION = text('The path of the run.');

/** Every response that is no stream has it. */
const NO_STORE = { 'Cache-Control': text('`no-store`.') };

/** Server-Sent Events. OpenAPI has no schema for a stream: this is the schema of the JSON of each `data:` line. */
const STREAM = {
  schema: {
    description: 'One event: a line `data:` with this JSON, and a blank line. The last event is `done`.',
    anyOf: ENVELOPES.map((model) => ({ $ref: getSchemaPath(model) })),
  },
  example: STREAM_EXAMPLE,
};

/**
 * 200: the stream of a run.
 *
 * @param others what else `Accept` may select
 */
export function streamResponse(description: string, others = {}): MethodDecorator {
  return applyDecorators(
    ApiExtraModels(...ENVELOPES),
    ApiResponse({
      status: 200,
      description,
      headers: { 'Content-Location': LOCATION },
      content: { 'text/event-stream': STREAM, ...others },
    }),
  );
}

/** The headers of 201. */
export const SESSION_LOCATION = { Location: text('The path of the new session.') };

/** The headers of 202. */
export const ACCEPTED_HEADERS = {
  Location: LOCATION,
  'Preference-Applied': text('`respond-async`.'),
};

/**
 * A response with JSON.
 *
 * @param parts the models of which unions in the model consist
 */
export function jsonResponse(
  status: number,
  description: string,
  model: Type,
  { headers = {}, parts = [] }: { headers?: object; parts?: Type[] } = {},
): MethodDecorator {
  return applyDecorators(
    ApiExtraModels(model, ...parts),
    ApiResponse({
      status,
      description,
      headers: { ...NO_STORE, ...headers },
      content: { 'application/json': { schema: { $ref: getSchemaPath(model) } } },
    }),
  );
}

/** 200 and 206: a file, and a range of it. */
export function fileResponses(): MethodDecorator {
  const content = { '*/*': { schema: { type: 'string' as const, format: 'binary' } } };
  const headers = {
    'Accept-Ranges': text('`bytes`.'),
    'Content-Disposition': text('`attachment`, with the name of the file.'),
    ETag: text('The digest of the file.'),
  };
  return applyDecorators(
    ApiResponse({ status: 200, description: 'The file.', headers, content }),
    ApiResponse({
      status: 206,
      description: 'The range that `Range` asks for.',
      headers: { ...headers, 'Content-Range': text('Which bytes of how many.') },
      content,
    }),
    ApiResponse({ status: 304, description: 'The caller has the file: `If-None-Match` names its `ETag`.' }),
  );
}

/** The problems of a route: one response per status, with its codes, and one for what else the host may answer with. */
export function problemResponses(codes: readonly ErrorCode[]): MethodDecorator {
  const codesOf = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const status = STATUS_OF_CODE[code];
    codesOf.set(status, [...(codesOf.get(status) ?? []), code]);
  }
  const responses = [...codesOf].map(([status, ofStatus]) => problemResponse(status, ofStatus));
  const others = ApiResponse({
    status: 'default',
    description: 'The host refuses for another reason: `refused`.',
    content: { 'application/problem+json': { schema: { $ref: getSchemaPath(QueryProblem) } } },
  });
  return applyDecorators(ApiExtraModels(QueryProblem), ...responses, others);
}

/** The codes are no `enum`: codes are added, and a host may have codes of its own. */
function problemResponse(status: number, codes: ErrorCode[]): MethodDecorator {
  const listed = codes.map((code) => `\`${code}\``).join(', ');
  const schema = {
    allOf: [{ $ref: getSchemaPath(QueryProblem) }],
    properties: { code: { type: 'string' as const, example: codes[0], 'x-extensible-enum': codes } },
  };
  return ApiResponse({
    status,
    description: `Refused: ${listed}.`,
    ...([429, 503, 507].includes(status) && {
      headers: { 'Retry-After': text('Seconds to wait before the next try.') },
    }),
    content: { 'application/problem+json': { schema } },
  });
}
