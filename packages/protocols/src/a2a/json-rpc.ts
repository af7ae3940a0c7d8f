import { Catch, Injectable } from '@nestjs/common';
import type { HostRequest } from 'nest-agent-query/protocol';
import { isObject } from '../view/json.js';
import { type RefusalForm, ViewFilter } from '../view/view.js';
import { detailsOf } from './error-details.js';
import { errorOf, invalidRequest } from './refusals.js';

type Json = Record<string, unknown>;

/** Names a request, so that its caller finds the response. */
export type RpcId = string | number | null;

/** A request of JSON-RPC 2.0. */
export interface RpcCall {
  id: RpcId;
  method: string;
  params: Json;
}

/** The ids of requests whose bodies were read. */
const IDS = new WeakMap<HostRequest, RpcId>();

/**
 * Reads a request, whose refusals have its id from now on.
 *
 * @throws {QueryError} `invalid_request`: it is none of JSON-RPC 2.0
 */
export function rpcCallOf(request: HostRequest, body: unknown): RpcCall {
  if (!isObject(body)) throw invalidRequest('The body must be one request of JSON-RPC 2.0: an object.');
  const { jsonrpc, id, method, params = {} } = body;
  if (typeof id !== 'string' && typeof id !== 'number' && id !== null)
    throw invalidRequest('The request must have an "id": a string or a number. Each one gets an answer.');
  IDS.set(request, id);
  if (jsonrpc !== '2.0') throw invalidRequest('The request must have "jsonrpc": "2.0".');
  if (typeof method !== 'string') throw invalidRequest('"method" must be a string, such as "SendMessage".');
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
    const { status, detail: message, code: name } = problem;
    const { code } = errorOf(name, status);
    const error = { code, message, data: detailsOf(problem, '/params') };
    return {
      status: status === 400 || status === 404 ? 200 : status,
      contentType: 'application/json; charset=utf-8',
      body: { jsonrpc: '2.0', id: IDS.get(request) ?? null, error },
    };
  };
}
