import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { type Observable, tap } from 'rxjs';
import { type HostResponse, rawResponse } from '../../query/index.js';

/**
 * Says in the header `Server-Timing` of an answer how many milliseconds after the head of its request the body had arrived, such as
 * `body;dur=12` (https://www.w3.org/TR/server-timing/).
 */
@Injectable()
export class BodyTimeInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const response = rawResponse(context.switchToHttp().getResponse<HostResponse>());
    const start = performance.now();
    return next.handle().pipe(
      tap(() => {
        const ms = Math.round(performance.now() - start);
        if (!response.headersSent) response.setHeader('Server-Timing', `body;dur=${ms}`);
      }),
    );
  }
}
