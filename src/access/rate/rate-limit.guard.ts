import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type HostRequest, isQueryOf } from '../../query/index.js';
import { isChecked, ownerOf } from '../owners.js';
import { tooManyQueries } from '../refusals.js';
import { QueryRates, WINDOW_SECONDS } from './query-rates.js';
import { RATE_LIMIT_OPTIONS, type RateLimitModuleOptions } from './rate-limit.options.js';

/**
 * Limits how many queries an owner begins in a minute, as `RateLimitModule` configures it. It belongs after the guard that finds
 * the owner. Each `POST` of the endpoint counts, except one that resumes a run (`Last-Event-ID`); a view of
 * another protocol may say what counts there (`SubmitsQueries`). It counts before its body is read, also if it is refused later.
 *
 * Each response to such a request has `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
 *
 * @throws {AccessRefusal} 429 `rate_limited` with `Retry-After`
 *
 * @example
 * QueryModule.forRoot({
 *   handler: MyHandler,
 *   decorators: [UseGuards(AccessGuard, RateLimitGuard)],
 *   owner: ownerOf,
 * })
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    private readonly rates: QueryRates,
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true;
    const http = context.switchToHttp();
    const request = http.getRequest<HostRequest>();
    if (!isQueryOf(context.getClass(), request)) return true;
    const { isExceeded, remaining, resetSeconds } = await this.rates.count(await this.#ownerOf(request));
    const { httpAdapter } = this.adapterHost;
    const response: unknown = http.getResponse();
    const { queriesPerMinute } = this.options;
    httpAdapter.setHeader(response, 'RateLimit-Policy', `"minute";q=${queriesPerMinute};w=${WINDOW_SECONDS}`);
    httpAdapter.setHeader(response, 'RateLimit', `"minute";r=${remaining};t=${resetSeconds}`);
    if (isExceeded) throw tooManyQueries(queriesPerMinute, resetSeconds);
    return true;
  }

  async #ownerOf(request: HostRequest): Promise<string> {
    const { owner = ownerIfChecked } = this.options;
    return (await owner(request)) ?? ANONYMOUS;
  }
}

const ANONYMOUS = 'anonymous';

/** A host without `AccessGuard` has no owners. */
function ownerIfChecked(request: object): string | undefined {
  return isChecked(request as HostRequest) ? ownerOf(request) : undefined;
}
