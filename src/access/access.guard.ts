import { isIP } from 'node:net';
import { type CanActivate, type ExecutionContext, Injectable, Logger } from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { type HostRequest, rawRequest } from '../query/index.js';
import { Authenticator } from './authenticator.js';
import { credentialOf } from './credential.js';
import { isChecked, letPass } from './owners.js';
import { PUBLIC_ROUTE } from './public-route.js';
import { AccessRefusal } from './refusals.js';

/**
 * Lets requests with a valid credential pass: an API key or a JWT, as `AccessModule` configures them. It guards the endpoint of a
 * `QueryModule`, a controller, or all routes of an application except those with `@PublicRoute()`.
 *
 * @throws {AccessRefusal} 401 `unauthorized` with `WWW-Authenticate`; 400 `invalid_query`: several credentials that differ; 503
 * `unavailable`: the keys of the issuer cannot be reached
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, decorators: [UseGuards(AccessGuard)], owner: ownerOf })
 *
 * @example
 * // All routes of the application:
 * @Module({ providers: [{ provide: APP_GUARD, useClass: AccessGuard }] })
 */
@Injectable()
export class AccessGuard implements CanActivate {
  readonly #logger = new Logger('Access');

  constructor(
    private readonly authenticator: Authenticator,
    private readonly reflector: Reflector,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    // Messages of gateways and microservices carry no credential that this guard could check.
    const isPublic = this.reflector.getAllAndOverride<boolean | undefined>(PUBLIC_ROUTE, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (context.getType() !== 'http') return isPublic === true;
    const request = context.switchToHttp().getRequest<HostRequest & { ip?: unknown }>();
    if (isChecked(request)) return true;
    letPass(request, isPublic ? undefined : await this.#ownerOf(request, context));
    return true;
  }

  async #ownerOf(request: HostRequest & { ip?: unknown }, context: ExecutionContext): Promise<string> {
    try {
      return await this.authenticator.ownerOf(credentialOf(rawRequest(request)));
    } catch (error) {
      if (error instanceof AccessRefusal) this.#report(error, request.ip, context);
      throw error;
    }
  }

  #report({ challenge, reason }: AccessRefusal, ip: unknown, context: ExecutionContext): void {
    const response: unknown = context.switchToHttp().getResponse();
    if (challenge !== undefined)
      this.adapterHost.httpAdapter.setHeader(response, 'WWW-Authenticate', challenge);
    // A proxy that is trusted passes on what the caller says; only an address is written.
    const address = typeof ip === 'string' && isIP(ip) ? ip : 'an unknown address';
    if (reason !== undefined) this.#logger.warn(`A credential from ${address} was refused. ${reason}`);
  }
}
