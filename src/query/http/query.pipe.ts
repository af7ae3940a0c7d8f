import { Injectable, type PipeTransform } from '@nestjs/common';
import { rawRequest } from '../platform/host.js';
import { isThenable } from '../ports/file-store.js';
import { type AnswersDto, validateAnswers } from './answers.dto.js';
import { Bodies } from './bodies.js';
import { type Caller, Callers, OfRequest, type PendingRequest, type Received } from './caller.js';
import { type ForkDto, validateFork } from './fork.dto.js';
import type { Cursor } from './headers.js';
import { misplacedIn, type QueryDto } from './query.dto.js';

/** What a `POST` of the endpoint brings: a query; or, from a caller who resumes a run, no query but a cursor. */
export type Submission =
  | { readonly caller: Caller; readonly query: QueryDto; readonly cursor?: undefined }
  | { readonly caller: Caller; readonly query?: undefined; readonly cursor: Cursor };

/** Finds who submits a query, and reads the query. */
@Injectable()
export class SubmissionPipe implements PipeTransform<PendingRequest, Promise<Submission>> {
  constructor(
    private readonly callers: Callers,
    private readonly bodies: Bodies,
  ) {}

  /**
   * The body of a caller without access is not read, and neither is that of a request that resumes a run: it has no query.
   *
   * @throws the errors of `Callers.of`, `Bodies.read` and `Bodies.query`
   */
  async transform(pending: PendingRequest): Promise<Submission> {
    const request = pending();
    const found = this.callers.of(pending);
    const caller = isThenable(found) ? await found : found;
    const { cursor } = caller;
    if (cursor) {
      rawRequest(request).resume();
      return { caller, cursor };
    }
    const body = await this.bodies.read(request, caller.owner);
    const query = await this.bodies.query(body);
    caller.notices = misplacedIn(body.value as object);
    caller.release = () => void body.release();
    return { caller, query };
  }
}

/** Reads and validates a body without files. The body of a caller without access is not read. */
@Injectable()
abstract class DocumentPipe<T> implements PipeTransform<PendingRequest, Promise<Received<T>>> {
  constructor(
    private readonly callers: Callers,
    private readonly bodies: Bodies,
  ) {}

  protected abstract validate(value: unknown): T;

  /** @throws {QueryError} `unsupported_media_type`, and the errors of `Callers.of`, `Bodies.readValue` and `validate` */
  async transform(pending: PendingRequest): Promise<Received<T>> {
    const caller = await this.callers.of(pending);
    return { caller, body: this.validate(await this.bodies.readValue(pending())) };
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

/** A parameter of a route: the query of a request, and who submits it. */
export const Submitted = () => OfRequest(SubmissionPipe);

/** A parameter of a route: the answers in the body, and who sends them. */
export const AnswersBody = () => OfRequest(AnswersPipe);

/** A parameter of a route: the fork in the body, and who sends it. */
export const ForkBody = () => OfRequest(ForkPipe);
