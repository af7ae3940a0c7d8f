import type { Part, Task } from '@a2a-js/sdk';
import { failures, repeated } from 'nest-agent-query/agents/remote';
import { AgentQueryError } from 'nest-agent-query-client';
import { type A2aAgent, type CallOptions, type Events, hasMessage } from './a2a-agent.js';
import { refusalOf } from './failures.js';
import { pauseKey } from './pauses.js';
import { messageOf } from './query-message.js';

/** Where an answer goes. */
export interface Address {
  agent: A2aAgent;
  options: CallOptions;
  runId: string;
  task: string;
  /** The pause that it answers. */
  key: string;
}

/**
 * Sends an answer to a task that asks, so that the agent gets it once.
 *
 * @param mayBeSent whether an earlier attempt may have sent it
 * @returns what comes after it; `arrived` if the agent has it already, and `late` if the task needs it no more
 * @throws {QueryError} the agent does not take it · `interrupted`: whether the agent has it is not known
 */
export async function deliver(
  address: Address,
  parts: Part[],
  mayBeSent: boolean,
): Promise<Events | 'arrived' | 'late'> {
  const { agent, options, runId, task, key } = address;
  const { signal } = options;
  const message = messageOf(`${runId}-${key}`, '', parts, task);
  const hasArrived = () => arrivedAt(address, message.messageId);
  if (mayBeSent && (await hasArrived())) return 'arrived';
  const send = async () => {
    try {
      return await agent.send(message, options);
    } catch (error) {
      signal.throwIfAborted();
      if (refusalOf(error) && !asks(await taskOf(address, 0), key)) return 'late';
      if (!(error instanceof AgentQueryError) || failures.isFinal(error)) throw error;
      if (failures.mayHaveBegun(error) && (await hasArrived())) return 'arrived';
      throw error;
    }
  };
  return repeated(send, { signal, failureOf: failures.notAnswered });
}

async function arrivedAt(address: Address, messageId: string): Promise<boolean> {
  const task = await taskOf(address);
  if (!asks(task, address.key) || hasMessage(task, messageId)) return true;
  // A history that has the query would have the answer too.
  if (hasMessage(task, address.runId)) return false;
  throw failures.mayBeExecuted();
}

function asks({ status }: Task, key: string): boolean {
  return status !== undefined && pauseKey(status) === key;
}

/** @param historyLength how many of its messages the task has. Default: all */
function taskOf({ agent, options, task }: Address, historyLength?: number): Promise<Task> {
  const get = () => agent.get(task, options, historyLength);
  return repeated(get, { signal: options.signal, failureOf: failures.notResumed });
}
