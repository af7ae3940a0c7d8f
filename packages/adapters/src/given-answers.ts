import type { ResolvedInput } from 'nest-agent-query';

/** What an answer says about a tool call that needs an approval. */
export interface Decision {
  isApproved: boolean;
  /** If the request is `editable`: replace all arguments of the call. */
  arguments?: Record<string, unknown>;
  /** A sentence for the model: why. There is always one if the call is not approved. */
  reason?: string;
}

/** Why there is no answer. */
const UNANSWERED: Partial<Record<ResolvedInput['outcome'], string>> = {
  declined: 'The user does not want to answer.',
  expired: 'Nobody has answered in time.',
};

/**
 * What the answer to an `approval` says. Whatever is not an approval is a refusal.
 *
 * @example
 * const [answer] = await context.ask([question], { checkpoint });
 * const { isApproved, reason } = decisionOf(answer);
 */
export function decisionOf({ outcome, value }: ResolvedInput): Decision {
  const { approved, reason, arguments: args } = (value ?? {}) as Record<string, unknown>;
  const said = typeof reason === 'string' && reason !== '' ? { reason } : {};
  if (approved === true) return { isApproved: true, ...said, ...(isObject(args) && { arguments: args }) };
  const refused = 'The user has not allowed the call.';
  return { isApproved: false, reason: refused, ...(value === undefined && unanswered(outcome)), ...said };
}

/**
 * The result of a call that the code of the caller makes: the answer to a `tool`. Without an answer, it is an error that says so.
 *
 * @example
 * const { content, isError } = callerResult(answer);
 * yield toolResult(call.id, shownResult(content), isError ? { isError } : {});
 */
export function callerResult({ outcome, value }: ResolvedInput): { content: unknown; isError: boolean } {
  if (!isObject(value)) return { content: notExecuted(unanswered(outcome).reason), isError: true };
  return { content: value['content'] ?? null, isError: value['isError'] === true };
}

/**
 * The result of a call that was not executed.
 *
 * @param reason a sentence, such as that of a `Decision`
 *
 * @example
 * yield toolResult(call.id, notExecuted(reason), { isError: true });
 */
export function notExecuted(reason = 'The call is not allowed.'): string {
  return `Not executed. ${reason}`;
}

function unanswered(outcome: ResolvedInput['outcome']): { reason: string } {
  return { reason: UNANSWERED[outcome] ?? 'The question was withdrawn.' };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
