import {
  Controller,
  Get,
  Injectable,
  NotFoundException,
  Param,
  Req,
  RequestMethod,
  Res,
  SetMetadata,
  type Type,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import type { RoutePathMetadata } from '@nestjs/core/router/interfaces/route-path-metadata.interface.js';
import { RoutePathFactory } from '@nestjs/core/router/route-path-factory.js';
import Negotiator from 'negotiator';
import { PublicRoute } from '../access/index.js';
import {
  decorated,
  header,
  type HostRequest,
  type HostResponse,
  pathAsSent,
  rawRequest,
  Settings,
  takeResponse,
} from '../query/index.js';
import { relativeAddress, trimmedPath } from './addresses.js';
import { etagOf, PageFiles } from './page-files.js';

/** The page loads its own files only, asks its own origin only, and is shown in no frame. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "font-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The metadata key of `@ApiExcludeController`: the page is no part of the interface. `@nestjs/swagger` need not be installed. */
const EXCLUDED = 'swagger/apiExcludeController';

const HEADERS = { 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer' };

/** Where the page and the endpoints are, under the prefixes of the host. */
export interface Addresses {
  path: string;
  endpoints: readonly string[];
  /** The name of the agent, if it is not the path of its endpoint. */
  name: string | undefined;
  /** The protocols that are beside each endpoint. */
  protocols: readonly string[];
}

/** Serves the page from memory. It writes the response itself, so that no interceptor of the host changes it. */
@Injectable()
export abstract class PlaygroundController {
  protected abstract readonly addresses: Addresses;

  constructor(
    private readonly files: PageFiles,
    private readonly modules: ModulesContainer,
    private readonly config: ApplicationConfig,
  ) {}

  @Get()
  page(@Req() request: HostRequest, @Res() response: HostResponse): void {
    const html = Buffer.from(this.#htmlFor(pathAsSent(request)));
    send(request, response, html, {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-cache',
      'Content-Security-Policy': CONTENT_SECURITY_POLICY,
      ETag: etagOf(html),
    });
  }

  @Get('assets/:name')
  asset(@Req() request: HostRequest, @Param('name') name: string, @Res() response: HostResponse): void {
    const file = this.files.asset(name);
    if (!file) throw new NotFoundException('The page has no such file.');
    const encoding = new Negotiator(rawRequest(request)).encoding(['gzip', 'identity']);
    send(request, response, encoding === 'gzip' ? file.gzip : file.content, {
      'Content-Type': file.type,
      // Its name has the digest of the content.
      'Cache-Control': 'public, max-age=31536000, immutable',
      Vary: 'Accept-Encoding',
      ETag: file.etag,
      ...(encoding === 'gzip' && { 'Content-Encoding': 'gzip' }),
    });
  }

  #htmlFor(sent: string): string {
    const { path, endpoints, name = '', protocols } = this.addresses;
    const routes = [path, ...endpoints].map((each) => this.#pathOf(each));
    // A proxy may have another prefix than the host: where all have that of the host, it is in no address.
    const prefix = trimmedPath(this.config.getGlobalPrefix());
    const isShared = routes.every((route) => `${route}/`.startsWith(`${prefix}/`));
    const [own = '', ...targets] = routes.map((route) => (isShared ? route.slice(prefix.length + 1) : route));
    const addressOf = (target: string) => escaped(relativeAddress(sent, own, target));
    const assets = addressOf(own === '' ? 'assets/' : `${own}/assets/`);
    return this.files.html
      .replaceAll('./assets/', () => assets)
      .replace('{{endpoints}}', () => targets.map(addressOf).join(' '))
      .replace('{{agent}}', () => escaped(name))
      .replace('{{protocols}}', protocols.join(' '));
  }

  /** The path of a route as Nest makes it: with the prefix of the host, and the version of the module that has the path. */
  #pathOf(path: string): string {
    const settings = [...this.modules.values()].map(({ providers }) => providers.get(Settings)?.instance);
    const module = (settings as (Settings | undefined)[]).find((each) => each?.path === `/${path}`);
    const versioningOptions = this.config.getVersioning();
    const route = {
      ctrlPath: `/${path}`,
      globalPrefix: `/${trimmedPath(this.config.getGlobalPrefix())}`,
      versioningOptions,
      controllerVersion: module && (module.version ?? versioningOptions?.defaultVersion),
    } as RoutePathMetadata;
    return trimmedPath(new RoutePathFactory(this.config).create(route, RequestMethod.GET)[0]!);
  }
}

/** Returns a controller at a path. It needs no credential: the page has no data, and asks for the key that its requests need. */
export function controllerAt(given: Addresses, decorators?: readonly ClassDecorator[]): Type {
  @PublicRoute()
  @SetMetadata(EXCLUDED, [true])
  @Controller({ path: given.path, version: VERSION_NEUTRAL })
  class MountedPlaygroundController extends PlaygroundController {
    protected override readonly addresses = given;
  }
  return decorated('PlaygroundModule', MountedPlaygroundController, decorators);
}

function send(
  request: HostRequest,
  response: HostResponse,
  content: Buffer,
  headers: Record<string, string>,
): void {
  const raw = takeResponse(response);
  for (const [name, value] of Object.entries({ ...HEADERS, ...headers })) raw.setHeader(name, value);
  if (header(request, 'if-none-match')?.split(/, */).includes(headers['ETag']!)) {
    raw.writeHead(304).end();
    return;
  }
  raw.writeHead(200, { 'Content-Length': content.length }).end(content);
}

/** A text in an attribute of HTML. A list of paths has spaces between them. */
function escaped(text: string): string {
  return text.replace(/[\s"'<>&]/g, (character) => `&#${character.charCodeAt(0)};`);
}
