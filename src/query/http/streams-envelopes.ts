import { Res, UseFilters, UseInterceptors } from '@nestjs/common';
import { UnparsedBody } from '../platform/host-parsers.js';
import { boxed } from '../sse/event-stream.js';
import { SseInterceptor } from '../sse/sse.interceptor.js';
import { ProblemFilter } from './problem.filter.js';

type Route = (this: unknown, ...parameters: unknown[]) => unknown;

/**
 * Marks a controller whose routes return Observables of envelopes, which `SseInterceptor` writes as they come, or values, which
 * are sent as JSON. What they throw is answered with a problem (RFC 9457). They read their bodies themselves, as these arrive.
 */
export const StreamsEnvelopes = (): ClassDecorator => (controller) => {
  UseFilters(ProblemFilter)(controller);
  UseInterceptors(SseInterceptor)(controller);
  const routes = controller.prototype as object;
  for (const name of Object.getOwnPropertyNames(routes).filter((each) => each !== 'constructor')) {
    const descriptor = Object.getOwnPropertyDescriptor(routes, name) as TypedPropertyDescriptor<Route>;
    UnparsedBody()(routes, name, descriptor);
    const route = descriptor.value!;
    // Nest would otherwise end the response as soon as the route returns, also a stream that has just begun. Its own way to say so
    // is a parameter with `@Res()`: this is one behind the last.
    Res()(routes, name, route.length);
    // Our pipes have validated what the routes get. A global pipe of the host must not do it again, by the types of the parameters.
    const types = Reflect.getMetadata('design:paramtypes', routes, name) as unknown[];
    Reflect.defineMetadata(
      'design:paramtypes',
      types.map(() => Object),
      routes,
      name,
    );
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
