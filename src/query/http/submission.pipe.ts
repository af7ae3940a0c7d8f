import { Injectable, type PipeTransform } from '@nestjs/common';
import type { CallerRequest } from '../options/query.options.js';
import { header, rawRequest, requestPath } from '../platform/host.js';
import type { QueryOptions } from '../runs/agent.service.js';
import { type Cursor, cursorOf, idempotencyKeyOf, prefersAsync } from './headers.js';
import { OwnerPipe, type PendingRequest } from './owner.pipe.js';
import type { QueryDto } from './query.dto.js';
import { QueryReader } from './query.reader.js';

/** What `POST {base}/query` asks for: a new query, or the rest of a run that the caller has followed before. */
export type Submission =
  | { cursor: undefined; query: QueryDto; options: QueryOptions }
  | { cursor: Cursor; owner: string; request: CallerRequest };

/**
 * Reads and validates a submission. The order matters: a caller without access is refused before its body is read, and the body
 * of a request that resumes a run is not read at all.
 */
@Injectable()
export class SubmissionPipe implements PipeTransform<PendingRequest, Promise<Submission>> {
  constructor(
    private readonly owners: OwnerPipe,
    private readonly reader: QueryReader,
  ) {}

  /** @throws {QueryError} the headers or the body are not valid */
  async transform(pending: PendingRequest): Promise<Submission> {
    const { request } = pending;
    const owner = await this.owners.transform(pending);
    const cursor = cursorOf(request);
    if (cursor) {
      rawRequest(request).resume();
      return { cursor, owner, request: request as never };
    }
    const idempotencyKey = idempotencyKeyOf(request);
    const detached = prefersAsync(header(request, 'prefer'));
    const { query, release } = await this.reader.read(request, owner);
    return {
      cursor,
      query,
      options: {
        owner,
        idempotencyKey,
        detached,
        release,
        request: request as never,
        path: requestPath(request),
      },
    };
  }
}
