import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiHeader, ApiOperation, ApiParam, ApiResponse } from '@nestjs/swagger';
import { QuerySentFile } from './models.js';
import { ALWAYS, RUN_ID } from './parameters.js';
import { fileResponses, jsonResponse, problemResponses } from './responses.js';

const SHA256 = ApiParam({
  name: 'sha256',
  schema: { type: 'string' },
  description: 'The digest of the file, in lower-case hexadecimal.',
});

/** How the routes for files are described, by the names of their methods. */
export const FILE_OPERATIONS: Readonly<Record<string, () => MethodDecorator>> = {
  keepFile: () =>
    applyDecorators(
      ApiOperation({
        summary: 'Send a file before the query that uses it',
        description:
          'A file part has its `sha256` in place of `base64`. A file that no query uses expires after an hour.',
      }),
      ApiHeader({
        name: 'Content-Disposition',
        required: false,
        schema: { type: 'string', example: 'attachment; filename="notes.txt"' },
        description: 'The name of the file, if it is the body.',
      }),
      ApiConsumes('application/octet-stream', 'multipart/form-data'),
      ApiBody({
        required: true,
        description: 'The bytes of the file, with its type as `Content-Type`; or a form with one file.',
        schema: { type: 'string', format: 'binary' },
      }),
      jsonResponse(201, 'The file is kept.', QuerySentFile),
      problemResponses([
        'invalid_query',
        ...ALWAYS,
        'not_found',
        'body_timeout',
        'limit_exceeded',
        'unsupported_encoding',
        'draining',
        'storage_full',
      ]),
    ),
  hasFile: () =>
    applyDecorators(
      ApiOperation({ summary: 'Find out whether you have sent a file' }),
      SHA256,
      ApiResponse({ status: 200, description: 'A query can name it.' }),
      ApiResponse({ status: 404, description: 'You have not sent it, or it is no longer kept.' }),
      problemResponses(ALWAYS),
    ),
  file: () =>
    applyDecorators(
      ApiOperation({ summary: 'Download a file of a query or of its answer' }),
      RUN_ID,
      SHA256,
      ApiHeader({ name: 'Range', required: false, schema: { type: 'string', example: 'bytes=0-99' } }),
      ApiHeader({ name: 'If-Range', required: false, schema: { type: 'string' } }),
      ApiHeader({ name: 'If-None-Match', required: false, schema: { type: 'string' } }),
      fileResponses(),
      problemResponses([...ALWAYS, 'not_found', 'file_expired', 'range_not_satisfiable']),
    ),
};
