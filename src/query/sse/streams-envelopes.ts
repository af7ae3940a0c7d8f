import { Res } from '@nestjs/common';
import type { Envelope } from 'nest-agent-query-client';
import { isObservable, type Observable } from 'rxjs';
import type { StreamForm } from './stream-form.js';
import { UnparsedBody } from '../platform/host-parsers.js';

type Route = (this: unknown, ...parameters: unknown[]) => unknown;

/**
 * A stream on its way from a route to `SseInterceptor`. In this box, because Nest subscribes to every Observable that a route
 * returns, and would handle every envelope on its own: see `RunStream` for why the interceptor does not subscribe.
 *
 * @example
 * return new EventStream(this.endpoint.agent.follow(owner, runId), new MyForm());
 */
export class EventStream {
  /** @param form how the response shows the run. Default: in envelopes, as the request accepts them */
  constructor(
    readonly envelopes: Observable<Envelope>,
    readonly form?: StreamForm,
  ) {}
}

/**
 * Marks a controller whose routes return Observables of envelopes, which `SseInterceptor` writes as they come, or values, which
 * are sent as JSON. They read their bodies themselves, as these arrive.
 *
 * @example
 * @UseInterceptors(SseInterceptor)
 * @StreamsEnvelopes()
 * class RunsController {}
 */
export const StreamsEnvelopes = (): ClassDecorator => (controller) => {
  const routes = controller.prototype as object;
  for (const name of Object.getOwnPropertyNames(routes).filter((each) => each !== 'constructor')) {
    const descriptor = Object.getOwnPropertyDescriptor(routes, name) as TypedPropertyDescriptor<Route>;
    UnparsedBody()(routes, name, descriptor);
    const route = descriptor.value!;
    // A route with a parameter `@Res()` sends its answer itself: what an interceptor of the host returns in its place would never be
    // sent. This parameter, one behind the last, lets Nest send it; see `answerOnce`.
    Res({ passthrough: true })(routes, name, route.length);
    // Our pipes have validated what the routes get. A global pipe of the host must not do it again, by the types of the parameters.
    const types = Reflect.getMetadata('design:paramtypes', routes, name) as unknown[];
    const unknownTypes = types.map(() => Object);
    Reflect.defineMetadata('design:paramtypes', unknownTypes, routes, name);
    Object.defineProperty(routes, name, { ...descriptor, value: boxing(route) });
  }
};

/** A route that returns a stream in a box, with what Nest's decorators have noted about it. */
function boxing(route: Route): Route {
  const boxingRoute: Route = function (...parameters) {
    const answer = route.apply(this, parameters);
    return answer instanceof Promise ? answer.then(boxed) : boxed(answer);
  };
  for (const key of Reflect.getMetadataKeys(route)) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, route), boxingRoute);
  }
  return Object.defineProperty(boxingRoute, 'name', { value: route.name });
}

/** What a route returns, with a stream in its box. */
function boxed(answer: unknown): unknown {
  return isObservable(answer) ? new EventStream(answer as Observable<Envelope>) : answer;
}
