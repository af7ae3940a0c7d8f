import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { type HostRequest, type HostResponse, rawRequest, rawResponse } from '../../query/index.js';

/**
 * Says in the header `Server-Timing` of an answer how many milliseconds after the head of its request the body had arrived, such as
 * `body;dur=12` (https://www.w3.org/TR/server-timing/).
 */
@Injectable()
export class BodyTimeInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const response = rawResponse(http.getResponse<HostResponse>());
    const start = performance.now();
    rawRequest(http.getRequest<HostRequest>()).once('end', () => {
      const ms = Math.round(performance.now() - start);
      if (!response.headersSent) response.setHeader('Server-Timing', `body;dur=${ms}`);
    });
    return next.handle();
  }
}
