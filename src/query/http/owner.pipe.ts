import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common';
import { Settings } from '../options/settings.js';
import type { HostRequest } from '../platform/host.js';
import { ANONYMOUS } from '../runs/agent.service.js';
import { Observers } from '../runs/observers.js';

/** The request of a route parameter. Its only member is private, so that a global pipe of the host finds nothing to change. */
export class PendingRequest {
  readonly #request: HostRequest;

  constructor(request: HostRequest) {
    this.#request = request;
  }

  get request(): HostRequest {
    return this.#request;
  }
}

const OfRequest = createParamDecorator(
  (_: unknown, context: ExecutionContext) =>
    new PendingRequest(context.switchToHttp().getRequest<HostRequest>()),
);

/** A parameter of a route that a pipe makes from the request. */
export const FromRequest = (pipe: new (...parameters: never[]) => PipeTransform<PendingRequest>) =>
  OfRequest(pipe);

/** Finds the owner of a request, as the option `owner` says. */
@Injectable()
export class OwnerPipe implements PipeTransform<PendingRequest, Promise<string>> {
  constructor(
    private readonly settings: Settings,
    private readonly observers: Observers,
  ) {}

  async transform({ request }: PendingRequest): Promise<string> {
    const owner = (await this.settings.owner(request as never)) ?? ANONYMOUS;
    this.observers.ownerIs(request, owner);
    return owner;
  }
}
