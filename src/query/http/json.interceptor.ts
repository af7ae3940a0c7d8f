import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  StreamableFile,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { concatMap, type Observable } from 'rxjs';
import type { HostResponse } from '../platform/host.js';
import { jsonOf } from '../platform/write-json.js';
import { EventStream } from '../sse/event-stream.js';

/**
 * Writes what a route returns, unless it is a stream: as JSON, or a file as it is. The status is that of the route. Nest's own
 * `JSON.stringify` would hold the event loop for a page of turns.
 */
@Injectable()
export class JsonInterceptor implements NestInterceptor {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const response = context.switchToHttp().getResponse<HostResponse>();
    return next
      .handle()
      .pipe(
        concatMap(async (answer: unknown) =>
          answer instanceof EventStream ? answer : this.#write(answer, response),
        ),
      );
  }

  async #write(body: unknown, response: HostResponse): Promise<void> {
    const { httpAdapter } = this.adapterHost;
    const isJson = body !== undefined && !(body instanceof StreamableFile);
    const sent = isJson ? await jsonOf(body) : body;
    try {
      if (isJson) response.header('Content-Type', 'application/json; charset=utf-8');
      if (response.getHeader('Cache-Control') === undefined) response.header('Cache-Control', 'no-store');
      httpAdapter.reply(response, sent);
    } catch (error) {
      if (body instanceof StreamableFile) body.getStream().destroy();
      throw error;
    }
  }
}
