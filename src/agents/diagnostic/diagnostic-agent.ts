import { UseInterceptors } from '@nestjs/common';
import type { HandlerFunction } from '../../query/index.js';
import { BodyTimeInterceptor } from './body-time.interceptor.js';
import { CutInterceptor } from './cut.interceptor.js';
import { diagnosticHandler } from './diagnostic-handler.js';

/**
 * Makes the options of the module that `nest-agent-query doctor` asks:
 *
 * - `handler`: see `diagnosticHandler`
 * - `runs`: a run is cancelled as soon as nobody follows it, so that the doctor sees when the service notices a caller that leaves
 * - `decorators`: a request whose URL has `?cut` gets a stream that is cut 250 ms after its first event, as if the process had died.
 *   Nothing but this response is cut. The header `Server-Timing` of each answer says how long the body of its request took to arrive
 *
 * @example
 * // The endpoint is `query`, so the doctor looks for `query/diagnostic`.
 * QueryModule.forRoot({ ...diagnosticAgent(), name: 'diagnostic', path: 'query/diagnostic' })
 *
 * @example
 * // With a guard, and with limits:
 * const { handler, runs, decorators } = diagnosticAgent();
 * QueryModule.forRoot({
 *   handler,
 *   runs: { ...runs, maxRunning: 20 },
 *   decorators: [UseGuards(MyGuard), ...decorators],
 *   name: 'diagnostic',
 *   path: 'query/diagnostic',
 * })
 */
export function diagnosticAgent(): {
  handler: HandlerFunction;
  runs: { disconnect: 'cancel' };
  decorators: ClassDecorator[];
} {
  return {
    handler: diagnosticHandler(),
    runs: { disconnect: 'cancel' },
    decorators: [UseInterceptors(BodyTimeInterceptor, CutInterceptor)],
  };
}
