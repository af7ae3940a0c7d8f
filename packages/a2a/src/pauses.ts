import { hash } from 'node:crypto';
import { type Part, TaskState, type TaskStatus } from '@a2a-js/sdk';
import type { InputAnswer, InputRequest } from 'nest-agent-query';
import { textOf } from './part-envelopes.js';

/** How long a question waits of an agent that says nothing about it: a day. */
const WAIT_MS = 24 * 3_600_000;

/** What a task asks in one status. */
export interface Pause {
  /** The same for the same question, however often it is read. */
  key: string;
  /** What is asked here. */
  requests: unknown[];
  /** Whether the agent has named the requests itself, and takes answers to them. */
  isNamed: boolean;
}

/** Names a status by its state and its message. */
export function pauseKey({ state, message }: TaskStatus): string {
  const contents = message?.parts.map(({ content }) => [content?.$case, content?.value as unknown]);
  return hash('sha256', JSON.stringify([state, message?.messageId, contents]), 'hex').slice(0, 32);
}

/** What a task asks: the requests of a service as this one, or what the message says. */
export function pauseOf(status: TaskStatus): Pause {
  const parts = status.message?.parts ?? [];
  const key = pauseKey(status);
  const named = parts.map(requestsOf).find((requests) => requests !== undefined);
  if (named) return { key, requests: named, isNamed: true };
  const text = textOf(parts) || 'The remote agent needs an answer to go on.';
  const url = status.state === TaskState.TASK_STATE_AUTH_REQUIRED ? urlOf(parts) : undefined;
  const request: Omit<InputRequest, 'onExpire'> = {
    id: `a2a-${key}`,
    message: text,
    ...(url === undefined ? { kind: 'input' } : { kind: 'auth', url }),
    expiresAt: new Date(Date.now() + WAIT_MS).toISOString(),
  };
  return { key, requests: [request], isNamed: false };
}

/** The parts of the message that answers. Undefined if nothing is to be sent: the requests expire in the agent too. */
export function answerParts({ isNamed }: Pause, answers: readonly InputAnswer[]): Part[] | undefined {
  if (isNamed) return answers.length === 0 ? undefined : [partOf({ $case: 'data', value: { answers } })];
  const [answer] = answers;
  if (answer?.outcome !== 'answered') return [textPart('The user does not want to answer.')];
  return [textPart(typeof answer.value === 'string' ? answer.value : 'The user has signed in.')];
}

export function textPart(text: string): Part {
  return partOf({ $case: 'text', value: text });
}

export function partOf(content: NonNullable<Part['content']>, filename = '', mediaType = ''): Part {
  return { content, filename, mediaType, metadata: undefined };
}

function requestsOf({ content }: Part): unknown[] | undefined {
  const value: unknown = content?.$case === 'data' ? content.value : undefined;
  const { requests } = (value ?? {}) as { requests?: unknown };
  return Array.isArray(requests) && requests.length > 0 ? requests : undefined;
}

/** Where a person signs in: a URL among the parts, or the first one in the text. */
function urlOf(parts: readonly Part[]): string | undefined {
  const given = parts.find(({ content }) => content?.$case === 'url')?.content?.value as string | undefined;
  const url = given ?? /https?:\/\/[^\s<>"']+/.exec(textOf(parts))?.[0];
  return url !== undefined && /^https?:/.test(url) && URL.canParse(url) ? url : undefined;
}
