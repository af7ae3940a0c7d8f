import { Injectable, type PipeTransform } from '@nestjs/common';
import { rawRequest } from '../platform/host.js';
import { isThenable } from '../ports/file-store.js';
import { type AnswersDto, validateAnswers } from './answers.dto.js';
import { Bodies } from './bodies.js';
import { CallerPipe, OfBothParameters, type PendingRequest } from './caller.js';
import { type ForkDto, validateFork } from './fork.dto.js';
import type { QueryDto } from './query.dto.js';

/** Reads the query of a request. */
@Injectable()
export class QueryPipe implements PipeTransform<PendingRequest, Promise<QueryDto | undefined>> {
  constructor(
    private readonly callers: CallerPipe,
    private readonly bodies: Bodies,
  ) {}

  /**
   * The body of a caller without access is not read, and neither is that of a request that resumes a run: it has no query.
   *
   * @throws the errors of `CallerPipe`, `Bodies.read` and `Bodies.query`
   */
  async transform(pending: PendingRequest): Promise<QueryDto | undefined> {
    const { request } = pending();
    const found = this.callers.transform(pending);
    const caller = isThenable(found) ? await found : found;
    if (caller.cursor) {
      rawRequest(request).resume();
      return undefined;
    }
    const body = await this.bodies.read(request, caller.owner);
    const query = await this.bodies.query(body);
    // Called when the run no longer needs the files.
    caller.release = () => void body.release();
    return query;
  }
}

/** Reads and validates a body without files. The body of a caller without access is not read. */
@Injectable()
abstract class DocumentPipe<T> implements PipeTransform<PendingRequest, Promise<T>> {
  constructor(
    private readonly callers: CallerPipe,
    private readonly bodies: Bodies,
  ) {}

  protected abstract validate(value: unknown): T;

  /** @throws {QueryError} `unsupported_media_type`, and the errors of `CallerPipe`, `Bodies.readValue` and `validate` */
  async transform(pending: PendingRequest): Promise<T> {
    await this.callers.transform(pending);
    return this.validate(await this.bodies.readValue(pending().request));
  }
}

@Injectable()
export class AnswersPipe extends DocumentPipe<AnswersDto> {
  protected validate = validateAnswers;
}

@Injectable()
export class ForkPipe extends DocumentPipe<ForkDto> {
  protected validate = validateFork;
}

/** A parameter of a route: the answers in the body. */
export const AnswersBody = () => OfBothParameters(AnswersPipe);

/** A parameter of a route: the fork in the body. */
export const ForkBody = () => OfBothParameters(ForkPipe);

/** A parameter of a route: the query in the body. Undefined where the caller resumes a run. */
export const QueryBody = () => OfBothParameters(QueryPipe);
