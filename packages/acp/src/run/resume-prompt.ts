import { isApproved } from 'nest-agent-query';
import { decisionOf } from 'nest-agent-query-adapters';
import type { RecordedAnswer } from './acp-state.js';
import type { Rejection } from './permissions.js';

/** What an agent is told whose process was lost. */
export function resumePrompt(resumeText: string, recorded: readonly RecordedAnswer[]): string {
  return [resumeText, ...recorded.map(decisionText)].join('\n');
}

function decisionText({ question: { message }, answer }: RecordedAnswer): string {
  if (typeof answer.value === 'string')
    return `The user was asked ${JSON.stringify(message)}, and answered: ${JSON.stringify(answer.value)}. Ask it again.`;
  if (isApproved(answer))
    return `The user has allowed this call, which was not executed: ${JSON.stringify(message)}. Make it again as it was.`;
  return rejectionText({ message, reason: decisionOf(answer).reason });
}

/** What an agent is told whose calls were rejected. */
export function rejectionPrompt(rejected: readonly Rejection[]): string {
  return [...rejected.map(rejectionText), 'Go on without what is not allowed.'].join('\n');
}

function rejectionText({ message, reason }: Rejection): string {
  return `The user has not allowed this call: ${JSON.stringify(message)}.${reason === undefined ? '' : ` ${reason}`}`;
}
