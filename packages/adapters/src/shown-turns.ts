import type { Turn } from 'nest-agent-query';
import { type AnswerStep, answerSteps } from './answer-steps.js';

/** What a model may see of an earlier turn. */
export interface ShownTurn {
  turn: Turn;
  /** The place of the turn in the history. */
  index: number;
  /** The steps of its answer. None: the question has no answer. */
  steps: AnswerStep[];
  /** Whether the model is shown the files of the question and of the answer. */
  showsFiles: boolean;
}

/** Takes the place of a result that the model has not answered to. */
const UNREAD = 'The call was made. Its result is not shown again, because the answer failed after it.';

/**
 * The turns that a model is shown, the newest first.
 *
 * An endpoint that has refused a question refuses each request that has it. So a turn that failed before its answer is left out, and
 * so are the turns before it that were sent with it and got no answer either. Of a turn that failed later the texts are shown,
 * and neither its files nor the results that the model has not answered to: they may be why it failed.
 */
export function* shownTurns(history: readonly Turn[]): Generator<ShownTurn> {
  let isRefused = false;
  for (const [index, turn] of [...history.entries()].reverse()) {
    const steps = answerSteps(turn);
    const hasFailed = turn.end.status === 'failed';
    if (isAccepted(turn, steps)) isRefused = false;
    else isRefused ||= hasFailed && steps.length === 0;
    if (isRefused) continue;
    yield { turn, index, steps: hasFailed ? withoutUnread(steps) : steps, showsFiles: !hasFailed };
  }
}

/**
 * The newest turns, oldest first, after which none was completed. A memory of a framework should not have them as they were: the
 * model may have refused one of them. `readConversation` has what a model is shown of them.
 *
 * @returns empty if the newest turn was completed
 *
 * @example
 * const history = openTurns(context.history);
 * const { turns, question } = await readConversation(query, context, { ...settings, history });
 */
export function openTurns(history: readonly Turn[]): Turn[] {
  return history.slice(history.findLastIndex(({ end }) => end.status === 'completed') + 1);
}

/** Whether a model has taken the question, and nothing says that it refused what came after. */
function isAccepted({ end }: Turn, steps: AnswerStep[]): boolean {
  return end.status === 'completed' || (end.status === 'cancelled' && steps.length > 0);
}

function withoutUnread(steps: AnswerStep[]): AnswerStep[] {
  return steps.map((step, index) => {
    if (index < steps.length - 1) return step;
    return { ...step, calls: step.calls.map((call) => ({ ...call, result: UNREAD })) };
  });
}
