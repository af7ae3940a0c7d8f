import { Catch, Injectable } from '@nestjs/common';
import type { HostRequest } from 'nest-agent-query/protocol';
import { isObject } from '../view/json.js';
import { type RefusalForm, ViewFilter } from '../view/view.js';
import { type Face, V1_0 } from './face.js';
import { errorOf, invalidRequest } from './refusals.js';
import { isOfV0_3 } from './service-parameters.js';
import { V0_3 } from './v0.3/face.js';

type Json = Record<string, unknown>;

/** Names a request, so that its caller finds the response. */
export type RpcId = string | number | null;

/** A request of JSON-RPC 2.0. */
export interface RpcCall {
  id: RpcId;
  method: string;
  params: Json;
}

/** What refusals of a request need besides: its id and its method, as soon as its body was read. */
interface Known {
  id: RpcId;
  method?: string;
}

const KNOWN = new WeakMap<HostRequest, Known>();

/** How a call is answered: as the version that its request names. */
export function faceOf(request: HostRequest): Face {
  return isOfV0_3(request) ? V0_3 : V1_0;
}

/**
 * Reads a request, whose refusals have its id from now on.
 *
 * @throws {QueryError} `invalid_request`: it is none of JSON-RPC 2.0
 */
export function rpcCallOf(request: HostRequest, body: unknown): RpcCall {
  const known: Known = { id: null };
  KNOWN.set(request, known);
  const { needsId } = faceOf(request);
  if (!isObject(body)) throw invalidRequest('The body must be one request of JSON-RPC 2.0: an object.');
  const { jsonrpc, id = needsId ? undefined : null, method, params = {} } = body;
  if (typeof id !== 'string' && typeof id !== 'number' && id !== null)
    throw invalidRequest('The request must have an "id": a string or a number. Each one gets an answer.');
  known.id = id;
  if (jsonrpc !== '2.0') throw invalidRequest('The request must have "jsonrpc": "2.0".');
  if (typeof method !== 'string') throw invalidRequest('"method" must be a string, such as "SendMessage".');
  known.method = method;
  if (!isObject(params)) throw invalidRequest('"params" must be an object.');
  return { id, method, params };
}

export function rpcResult(id: RpcId, result: unknown): Json {
  return { jsonrpc: '2.0', id, result };
}

/**
 * Answers refusals as JSON-RPC does. Its clients read an error with the status 200 only; the statuses that proxies and clients act
 * on, such as 401 and 429, stay.
 */
@Catch()
@Injectable()
export class JsonRpcFilter extends ViewFilter {
  protected override readonly form: RefusalForm = (problem, request) => {
    const { status, detail, code: name } = problem;
    const { id, method } = KNOWN.get(request) ?? { id: null };
    const face = faceOf(request);
    const message = face.message(detail);
    const error = { code: errorOf(name, status).code, message, data: face.errorData(problem) };
    const body = { jsonrpc: '2.0', id, error };
    if (!face.statuses.includes(status)) return { status, contentType: JSON_TYPE, body };
    if (method === undefined || !face.streams.includes(method))
      return { status: 200, contentType: JSON_TYPE, body };
    return { status: 200, contentType: EVENTS, body: `data: ${JSON.stringify(body)}\n\n` };
  };
}

const JSON_TYPE = 'application/json; charset=utf-8';
const EVENTS = 'text/event-stream; charset=utf-8';
