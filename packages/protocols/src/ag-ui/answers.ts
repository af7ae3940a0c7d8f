import { type InputAnswer, type InputView, QueryError } from 'nest-agent-query';
import { isObject } from '../view/json.js';
import { isOfTools } from './interrupts.js';
import type { InputMessage, ResumeEntry } from './run-input.js';
import { textOf } from './parts.js';

/**
 * The answers that a list of a client gives.
 *
 * @param inputs what the run has asked
 * @throws {QueryError} `not_found`: it has not asked for one of them · `invalid_answer`: the list lacks an open one, or has one twice
 */
export function answersOf(resume: readonly ResumeEntry[], inputs: readonly InputView[]): InputAnswer[] {
  const ids = resume.map(({ interruptId }) => interruptId);
  const unknown = ids.find((id) => !inputs.some((input) => input.id === id));
  if (unknown !== undefined)
    throw new QueryError('not_found', `This thread has no interrupt ${JSON.stringify(unknown)}.`);
  if (new Set(ids).size < ids.length)
    throw new QueryError('invalid_answer', '"resume" must have one answer to each interrupt.');
  requireAnswers(inputs.filter(({ id, resolved }) => !resolved && !ids.includes(id)));
  return resume.flatMap((entry) => {
    const input = inputs.find(({ id }) => id === entry.interruptId)!;
    // A client gives up what has expired, or was given up.
    const isOver = input.resolved && entry.status === 'cancelled';
    return isOver ? [] : [answerOf(entry, input)];
  });
}

/** @throws {QueryError} `invalid_answer`: there are open requests that a new message may not pass over */
export function requireAnswers(open: readonly InputView[]): void {
  if (open.length === 0) return;
  const ids = open.map(({ id }) => JSON.stringify(id)).join(', ');
  throw new QueryError(
    'invalid_answer',
    `This thread has open interrupts. Send "resume" with an answer to each: ${ids}.`,
  );
}

/** What a new message may not pass over: unlike calls that the client executes, interrupts must be answered. */
export function blockingOf(inputs: readonly InputView[]): InputView[] {
  const open = inputs.filter(({ resolved }) => !resolved);
  return isOfTools(open) ? [] : open;
}

/** The results of tools at the end of a history, as answers to the requests for these calls. */
export function resultsOf(messages: readonly InputMessage[], inputs: readonly InputView[]): ResumeEntry[] {
  const first = messages.findLastIndex(({ role }) => role === 'user' || role === 'assistant') + 1;
  return messages.slice(first).flatMap((message): ResumeEntry[] => {
    const { role, toolCallId, error } = message;
    const input = inputs.find((each) => each.kind === 'tool' && each.toolCallId === toolCallId);
    if (role !== 'tool' || !input) return [];
    const payload = typeof error === 'string' ? { error } : textOf(message);
    return [{ interruptId: input.id, status: 'resolved', payload }];
  });
}

function answerOf({ interruptId: id, status, payload }: ResumeEntry, { kind }: InputView): InputAnswer {
  if (status === 'cancelled') return { id, outcome: 'declined' };
  return { id, outcome: 'answered', value: VALUES[kind](payload) };
}

/** The value of an answer, by the kind of the request. Whether it is valid, the hub says. */
const VALUES: Record<InputView['kind'], (payload: unknown) => unknown> = {
  approval: (payload) => {
    if (!isObject(payload)) return typeof payload === 'boolean' ? { approved: payload } : payload;
    const { approved, editedArgs, reason } = payload;
    return {
      approved,
      ...(editedArgs !== undefined && { arguments: editedArgs }),
      ...(reason !== undefined && { reason }),
    };
  },
  input: (payload) => payload,
  tool: (payload = null) => {
    const isError =
      isObject(payload) && typeof payload['error'] === 'string' && Object.keys(payload).length === 1;
    return isError ? { content: payload['error'], isError } : { content: payload };
  },
  auth: () => ({}),
};
