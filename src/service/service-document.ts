import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Controller, Get, Header, NotFoundException, type Type } from '@nestjs/common';
import type { AccessModuleOptions } from '../access/index.js';
import { CODE_FOLDER } from '../query/index.js';
import { VersionController } from '../telemetry/index.js';

/** What the service has, as far as its document tells it. */
export interface ServiceFeatures {
  /** The paths of the query modules, without a slash at the beginning. */
  endpoints: readonly string[];
  /** The credentials that give access; undefined if none is needed. */
  access: AccessModuleOptions | undefined;
  hasMetrics: boolean;
  hasPage: boolean;
}

/** The routes of other protocols. */
type Views = readonly { paths: object[] }[];

/**
 * Returns the controller of `GET /openapi.json`: OpenAPI 3.1, with every path of the service but the assets of its page, and what
 * tests the way to it. It names the agents and the version, so it needs a credential where those need one.
 */
export function documentControllerOf(features: ServiceFeatures, views: Views): Type {
  let written: Promise<string> | undefined;

  @Controller('openapi.json')
  class DocumentController {
    @Get()
    @Header('Content-Type', 'application/json')
    @Header('Cache-Control', 'no-store')
    document(): Promise<string> {
      return (written ??= documentOf(features, views).then((document) => JSON.stringify(document)));
    }
  }
  return DocumentController;
}

/** An endpoint at `query`, as `nest-agent-query/openapi` describes it to hosts. The build writes it. */
interface Endpoint {
  paths: Record<string, Record<string, { operationId: string }>>;
  schemas: object;
}

const TEXT = { type: 'string' };
const PUBLIC = { security: [] };

async function documentOf({ endpoints, access, ...has }: ServiceFeatures, views: Views): Promise<object> {
  const text = await readFile(join(CODE_FOLDER, 'openapi/endpoint.json'), 'utf8').catch(() => {
    throw new NotFoundException('The document is missing. Run npm run build, or install the package again.');
  });
  const endpoint = JSON.parse(text) as Endpoint;
  const { name: title, version } = new VersionController().version();
  const securitySchemes = access && schemesOf(access);
  return {
    openapi: '3.1.0',
    info: { title, version },
    security: securitySchemes && Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    paths: {
      ...Object.fromEntries(endpoints.flatMap((path) => pathsAt(path, endpoint))),
      ...(Object.assign({}, ...views.flatMap(({ paths }) => paths)) as object),
      ...serviceRoutes(has),
    },
    components: { schemas: endpoint.schemas, securitySchemes },
  };
}

/** The paths of an endpoint somewhere else, with ids of operations that no other endpoint has. */
function pathsAt(base: string, { paths }: Endpoint): [path: string, operations: object][] {
  return Object.entries(paths).map(([path, operations]) => {
    const own = Object.entries(operations).map(([method, { operationId, ...operation }]) => {
      const id = operationId.replace(/^[^_]+/, base.replaceAll('/', '_'));
      return [method, { ...operation, operationId: id, tags: [base] }];
    });
    return [path.replace('/query', `/${base}`), Object.fromEntries(own)];
  });
}

/** `AccessGuard` takes both forms of an API key. */
function schemesOf({ jwt, keys = [], keysFile }: AccessModuleOptions): object {
  const bearer = { type: 'http', scheme: 'bearer' };
  if (keys.length === 0 && keysFile === undefined) return { bearer: { ...bearer, bearerFormat: 'JWT' } };
  const description = jwt ? 'An API key, or a token (JWT).' : 'An API key.';
  return { bearer: { ...bearer, description }, apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' } };
}

function serviceRoutes({ hasMetrics, hasPage }: Pick<ServiceFeatures, 'hasMetrics' | 'hasPage'>): object {
  const status = jsonOf({ status: TEXT });
  const notReady = {
    description: 'It does not.',
    content: jsonOf({ status: TEXT, code: TEXT, detail: TEXT }),
  };
  return {
    '/health/live': route('live', 'Whether the process answers', status, PUBLIC),
    '/health/ready': route(
      'ready',
      'Whether the service takes queries',
      jsonOf({ status: TEXT }, { detail: TEXT }),
      PUBLIC,
      { 503: notReady },
    ),
    '/version': route('version', 'Which version answers', jsonOf({ name: TEXT, version: TEXT })),
    '/openapi.json': route('document', 'This document', jsonOf({ openapi: TEXT })),
    ...(hasMetrics && {
      '/metrics': route('metrics', 'The metrics, for Prometheus', { 'text/plain': { schema: TEXT } }),
    }),
    ...(hasPage && {
      '/': route('page', 'A page to try the agents', { 'text/html': { schema: TEXT } }, PUBLIC),
    }),
  };
}

function route(operationId: string, summary: string, content: object, more = {}, others = {}): object {
  const problem = { schema: { $ref: '#/components/schemas/QueryProblem' } };
  const refusal = { description: 'A refusal.', content: { 'application/problem+json': problem } };
  const responses = { 200: { description: 'The answer.', content }, ...others, default: refusal };
  return { get: { operationId, summary, tags: ['service'], ...more, responses } };
}

/** JSON whose members are all there, except perhaps some. */
function jsonOf(properties: object, optional: object = {}): object {
  const required = Object.keys(properties);
  const schema = { type: 'object', required, properties: { ...properties, ...optional } };
  return { 'application/json': { schema } };
}
