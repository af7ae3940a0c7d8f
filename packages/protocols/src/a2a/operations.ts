import { Injectable } from '@nestjs/common';
import type { EventStream, ReceivedBody } from 'nest-agent-query/protocol';
import type { Caller } from './caller.js';
import { Sending } from './message/sending.js';
import { NO_EXTENDED_CARD, noSuchMethod, pushNotSupported, unsupportedOperation } from './refusals.js';
import { TaskList } from './tasks/task-list.js';
import { Tasks } from './tasks/tasks.js';

type Json = Record<string, unknown>;

type Operation = (caller: Caller, params: Json, body?: ReceivedBody) => Promise<EventStream | object>;

/** The operations of A2A 1.0 (§5.3), which both bindings have, and 0.3 under other names. */
@Injectable()
export class Operations {
  readonly #all: Record<string, Operation>;

  constructor(sending: Sending, tasks: Tasks, list: TaskList) {
    const push = () => Promise.reject(pushNotSupported());
    this.#all = {
      SendMessage: (caller, params, body) => sending.send(caller, params, body!),
      SendStreamingMessage: (caller, params, body) => sending.stream(caller, params, body!),
      GetTask: (caller, params) => tasks.get(caller, params),
      ListTasks: (caller, params) => list.page(caller, params),
      CancelTask: (caller, params) => tasks.cancel(caller, params),
      SubscribeToTask: (caller, params) => tasks.subscribe(caller, params),
      CreateTaskPushNotificationConfig: push,
      GetTaskPushNotificationConfig: push,
      ListTaskPushNotificationConfigs: push,
      DeleteTaskPushNotificationConfig: push,
      GetExtendedAgentCard: () => Promise.reject(unsupportedOperation(NO_EXTENDED_CARD)),
    };
  }

  /**
   * @param name in JSON-RPC, such as `SendMessage`
   * @param body released by operations that send a message
   * @throws {QueryError} `unknown_method`, and the refusals of the operation
   */
  call(name: string, caller: Caller, params: Json, body?: ReceivedBody): Promise<EventStream | object> {
    if (!Object.hasOwn(this.#all, name))
      throw noSuchMethod(name, 'A2A 1.0, which the request names', 'SendMessage');
    return this.#all[name]!(caller, params, body);
  }
}
