import { constants, type ServerHttp2Stream } from 'node:http2';
import type { ServerResponse } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Envelope } from 'nest-agent-query-client';
import { delay, type Observable, take, tap } from 'rxjs';
import {
  envelopesOf,
  type HostRequest,
  type HostResponse,
  rawRequest,
  rawResponse,
} from '../../query/index.js';

/** How long after its first event a stream is cut: that event has left by then. */
const CUT_MS = 250;

/**
 * Cuts the stream of a request whose URL has `?cut`, as a process that dies does: after its first event, without an end. It cuts that
 * response alone. The run goes on, or not, as its disconnect policy says.
 */
@Injectable()
export class CutInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const [, search] = rawRequest(http.getRequest<HostRequest>()).url!.split('?', 2);
    const answers: Observable<unknown> = next.handle();
    if (!new URLSearchParams(search).has('cut')) return answers;
    const response = http.getResponse<HostResponse>();
    return answers.pipe(
      tap(() => {
        const envelopes = envelopesOf(response);
        if (envelopes) cutAfterFirst(envelopes, rawResponse(response));
      }),
    );
  }
}

function cutAfterFirst(envelopes: Observable<Envelope>, response: ServerResponse): void {
  // Following on until the cut, this follower is never the last one that leaves.
  const first = envelopes.pipe(delay(CUT_MS), take(1));
  const following = first.subscribe({ next: () => cut(response), error: () => undefined });
  response.once('close', () => following.unsubscribe());
}

/** Over HTTP/2, other responses have the same connection. */
function cut(response: ServerResponse & { stream?: ServerHttp2Stream }): void {
  if (response.stream) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}
