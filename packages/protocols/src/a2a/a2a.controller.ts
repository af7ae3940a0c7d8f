import { All, Get, HttpCode, Param, Post, Query, Req, Res, UseFilters } from '@nestjs/common';
import {
  EventStream,
  type HostRequest,
  type HostResponse,
  type ReceivedBody,
  StreamsEnvelopes,
} from 'nest-agent-query/protocol';
import { View } from '../view/view.js';
import { V1_0 } from './face.js';
import { faceOf, JsonRpcFilter, rpcCallOf, rpcResult } from './json-rpc.js';
import { REST_PLACES } from './message/parts.js';
import { Operations } from './operations.js';
import { unknownMethod } from './refusals.js';
import { A2A_JSON, RestFilter } from './rest.js';
import { requireV1_0 } from './service-parameters.js';

type Json = Record<string, unknown>;

/** Express and Fastify have no wildcard in common. */
const OTHER_PATHS = [':a/:b', ':a/:b/:c', ':a/:b/:c/:d', ':a/:b/:c/:d/:e'];

/** Of an event of REST. */
const NO_FRAME = ['', ''] as const;

/** A2A 1.0: JSON-RPC at the path itself (§9), and REST below it (§11). A2A 0.3: JSON-RPC at the same path. */
@UseFilters(RestFilter)
@StreamsEnvelopes((routes: A2aController) => routes.view.endpoint.responses)
export class A2aController {
  constructor(
    readonly view: View,
    private readonly operations: Operations,
  ) {}

  @Post()
  @HttpCode(200)
  @UseFilters(JsonRpcFilter)
  async rpc(@Req() request: HostRequest, @Res() response: HostResponse): Promise<unknown> {
    const face = faceOf(request);
    const call = async (body: ReceivedBody, owner: string) => {
      const { id, method, params: given } = rpcCallOf(request, body.value);
      if (face === V1_0) requireV1_0(request);
      const frame = [`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`, '}'] as const;
      const caller = { owner, request, response, route: '', face, frame };
      const { name, params } = face.operationOf(method, given);
      if (!name.startsWith('Send')) await body.release();
      const answer = await this.operations.call(name, caller, params, body);
      return answer instanceof EventStream ? answer : rpcResult(id, answer);
    };
    return this.view.endpoint.withBody(request, face.places, call, A2A_JSON);
  }

  @Get('tasks')
  list(
    @Req() request: HostRequest,
    @Res() response: HostResponse,
    @Query() parameters: Json,
  ): Promise<unknown> {
    return this.#call('ListTasks', 'tasks', request, response, parameters);
  }

  /** `tasks/{id}` and `tasks/{id}:subscribe`. */
  @Get('tasks/:task')
  async task(
    @Req() request: HostRequest,
    @Res() response: HostResponse,
    @Query() parameters: Json,
    @Param('task') task: string,
  ): Promise<unknown> {
    const { id, verb } = namedTask(task);
    const name = verb === 'subscribe' ? 'SubscribeToTask' : 'GetTask';
    return this.#call(name, `tasks/${task}`, request, response, { ...parameters, id });
  }

  /** `tasks/{id}:cancel` and `tasks/{id}:subscribe`. */
  @Post('tasks/:task')
  @HttpCode(200)
  async act(
    @Req() request: HostRequest,
    @Res() response: HostResponse,
    @Param('task') task: string,
  ): Promise<unknown> {
    const { id, verb } = namedTask(task);
    if (verb === undefined) throw unknownPath();
    const name = verb === 'cancel' ? 'CancelTask' : 'SubscribeToTask';
    return this.#call(name, `tasks/${task}`, request, response, {
      id,
    });
  }

  @All(['tasks/:task/pushNotificationConfigs', 'tasks/:task/pushNotificationConfigs/:config'])
  push(@Req() request: HostRequest, @Res() response: HostResponse): Promise<unknown> {
    return this.#call('CreateTaskPushNotificationConfig', '', request, response);
  }

  @Get('extendedAgentCard')
  extendedCard(@Req() request: HostRequest, @Res() response: HostResponse): Promise<unknown> {
    return this.#call('GetExtendedAgentCard', '', request, response);
  }

  /** `message:send` and `message:stream`. Express takes what follows a ":" for a parameter, and the first route that fits. */
  @All(':operation')
  @HttpCode(200)
  async message(
    @Req() request: HostRequest,
    @Res() response: HostResponse,
    @Param('operation') route: string,
  ): Promise<unknown> {
    const name = { 'message:send': 'SendMessage', 'message:stream': 'SendStreamingMessage' }[route];
    const { method } = request.raw ?? request;
    if (name === undefined || method !== 'POST') throw unknownPath();
    requireV1_0(request);
    const call = async (body: ReceivedBody, owner: string) => {
      const caller = { owner, request, response, route, face: V1_0, frame: NO_FRAME };
      return answered(response, await this.operations.call(name, caller, body.value as Json, body));
    };
    return this.view.endpoint.withBody(request, REST_PLACES, call, A2A_JSON);
  }

  @All(OTHER_PATHS)
  other(): never {
    throw unknownPath();
  }

  /** An operation without a body. */
  async #call(
    name: string,
    route: string,
    request: HostRequest,
    response: HostResponse,
    params: Json = {},
  ): Promise<unknown> {
    requireV1_0(request);
    const owner = await this.view.endpoint.owner(request);
    const caller = { owner, request, response, route, face: V1_0, frame: NO_FRAME };
    return answered(response, await this.operations.call(name, caller, params));
  }
}

function answered(response: HostResponse, answer: EventStream | object): EventStream | object {
  if (!(answer instanceof EventStream)) response.header('Content-Type', A2A_JSON);
  return answer;
}

/** A task in a path, and what follows a ":" after it. */
function namedTask(text: string): { id: string; verb: string | undefined } {
  const [, id = text, verb] = /^(.+):(cancel|subscribe)$/.exec(text) ?? [];
  return { id, verb };
}

function unknownPath() {
  return unknownMethod('A2A has no such path and method.');
}
