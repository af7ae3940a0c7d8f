import type { Envelope } from 'nest-agent-query-client';
import { isObservable, type Observable } from 'rxjs';

/**
 * A stream on its way from a route to `SseInterceptor`. In this box, because Nest subscribes to every Observable that a route
 * returns, and would handle every envelope on its own: see `RunStream` for why the interceptor does not subscribe.
 */
export class EventStream {
  constructor(readonly envelopes: Observable<Envelope>) {}
}

/** What a route returns, with a stream in its box. */
export function boxed(answer: unknown): unknown {
  return isObservable(answer) ? new EventStream(answer as Observable<Envelope>) : answer;
}
