import { Res, UseFilters, UseInterceptors } from '@nestjs/common';
import { UnparsedBody } from '../platform/host-parsers.js';
import { SseInterceptor } from '../sse/sse.interceptor.js';
import { ProblemFilter } from './problem.filter.js';

/**
 * Marks a controller whose routes stream envelopes. They read their bodies themselves, as they arrive; the interceptor writes what
 * they return, and what they throw is answered with a problem (RFC 9457).
 */
export const StreamsEnvelopes = (): ClassDecorator => (controller) => {
  UseFilters(ProblemFilter)(controller);
  UseInterceptors(SseInterceptor)(controller);
  const routes = controller.prototype as object;
  for (const name of Object.getOwnPropertyNames(routes).filter((each) => each !== 'constructor')) {
    const descriptor = Object.getOwnPropertyDescriptor(routes, name)!;
    UnparsedBody()(routes, name, descriptor);
    // Nest would otherwise end the response as soon as the route returns, also a stream that has just begun. Its own way to say so
    // is a parameter with `@Res()`: this is one behind the last.
    Res()(routes, name, (descriptor.value as { length: number }).length);
  }
};
