import { type CanActivate, type ExecutionContext, Req, Res, UseGuards } from '@nestjs/common';
import { BodyAborted } from '../body/request-bytes.js';
import { markServed } from '../platform/connections.js';
import { type HostRequest, type HostResponse, rawResponse, turnOf } from '../platform/host.js';
import { UnparsedBody } from '../platform/host-parsers.js';
import type { Responses } from './responses.js';

type Route = (this: object, ...parameters: unknown[]) => unknown;

/** Lets a request in when its turn has come, before anything of its body is read: see `turnOf`. */
const IN_TURN: CanActivate = {
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const http = context.switchToHttp();
    const response = http.getResponse<HostResponse>();
    markServed(response);
    const turn = turnOf(http.getRequest<HostRequest>(), response);
    return turn === undefined || turn.then((isTurn) => isTurn || abandon(response));
  },
};

/** The connection was closed before the turn of a request: there is no one to answer. */
function abandon(response: HostResponse): never {
  rawResponse(response).destroy();
  throw new BodyAborted();
}

/**
 * Marks a controller whose routes return Observables of envelopes, which `Responses` writes as they come, or values, which are sent
 * as JSON. They read their bodies themselves, as these arrive.
 *
 * The routes write their answers, and no interceptor does it for them: Nest subscribes to every Observable that a route returns, and
 * would handle every envelope on its own (see `RunStream`). An interceptor also costs a small query a tenth of its time.
 *
 * @param responsesOf returns what writes the answers of a controller. Default: its routes write them themselves
 *
 * @example
 * @StreamsEnvelopes((routes: RunsController) => routes.endpoint.responses)
 * class RunsController {}
 */
export const StreamsEnvelopes =
  <T extends object>(responsesOf?: (controller: T) => Responses): ClassDecorator =>
  (controller) => {
    UseGuards(IN_TURN)(controller);
    const routes = controller.prototype as object;
    for (const name of Object.getOwnPropertyNames(routes).filter((each) => each !== 'constructor')) {
      const descriptor = Object.getOwnPropertyDescriptor(routes, name) as TypedPropertyDescriptor<Route>;
      UnparsedBody()(routes, name, descriptor);
      const route = descriptor.value!;
      // A route with a parameter `@Res()` sends its answer itself: what an interceptor of the host returns in its place would never be
      // sent. This parameter, one behind the last, lets Nest send it; see `answerOnce`.
      Res({ passthrough: true })(routes, name, route.length);
      Req()(routes, name, route.length + 1);
      // Our pipes have validated what the routes get. A global pipe of the host must not do it again, by the types of the parameters.
      const types = Reflect.getMetadata('design:paramtypes', routes, name) as unknown[];
      const unknownTypes = types.map(() => Object);
      Reflect.defineMetadata('design:paramtypes', unknownTypes, routes, name);
      if (!responsesOf) continue;
      const value = writing(route, responsesOf as (controller: object) => Responses);
      Object.defineProperty(routes, name, { ...descriptor, value });
    }
  };

/** A route that writes what another one returns, with what Nest's decorators have noted about that. */
function writing(route: Route, responsesOf: (controller: object) => Responses): Route {
  const writingRoute = async function (this: object, ...parameters: unknown[]): Promise<void> {
    const response = parameters[route.length] as HostResponse;
    const request = parameters[route.length + 1] as HostRequest;
    await responsesOf(this).write(await route.apply(this, parameters), request, response);
  };
  for (const key of Reflect.getMetadataKeys(route)) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, route), writingRoute);
  }
  return Object.defineProperty(writingRoute, 'name', { value: route.name });
}
