import type { ResolvedInput } from 'nest-agent-query';
import { decisionOf, notExecuted } from 'nest-agent-query-adapters';

/** What the middleware of LangChain that asks people gets for a call. */
type ReviewDecision = { type: 'approve' | 'reject' | 'respond'; message?: string } | { type: 'edit' };

/** A call of a tool that a person is to approve. */
export interface Review {
  name: string;
  args: unknown;
  description: string | undefined;
  /** Whether the person may change the arguments. */
  isEditable: boolean;
  /** @param refused gets the sentence with which the call is refused */
  decide(answer: ResolvedInput, refused: (reason: string) => void): ReviewDecision;
}

interface Action {
  name: string;
  args?: unknown;
  description?: string;
}

interface Config {
  name: unknown;
  allowed: readonly string[];
}

const ALL = ['approve', 'edit', 'reject'];

/**
 * The calls that `humanInTheLoopMiddleware` asks about, in the order of its decisions. Its members have names in camel case, and
 * in the version for Python in snake case.
 *
 * @param value of an interrupt
 * @returns undefined if it is another question
 */
export function reviewsOf(value: unknown): Review[] | undefined {
  const given = (value ?? {}) as Record<string, unknown>;
  const actions = given['actionRequests'] ?? given['action_requests'];
  const configs = given['reviewConfigs'] ?? given['review_configs'];
  if (!Array.isArray(actions) || actions.length === 0 || !Array.isArray(configs)) return undefined;
  const known = configs.map(configOf);
  const editedAction = 'actionRequests' in given ? 'editedAction' : 'edited_action';
  return (actions as Action[]).map((action, index) => {
    const { allowed } = known.find(({ name }) => name === action.name) ?? known[index] ?? { allowed: ALL };
    return {
      name: action.name,
      args: action.args ?? {},
      description: action.description,
      isEditable: allowed.includes('edit'),
      decide: (answer, refused) => decided(action, allowed, editedAction, answer, refused),
    };
  });
}

function configOf(config: Record<string, unknown>): Config {
  const allowed = config['allowedDecisions'] ?? config['allowed_decisions'];
  return {
    name: config['actionName'] ?? config['action_name'],
    allowed: Array.isArray(allowed) ? (allowed as string[]) : ALL,
  };
}

function decided(
  { name, args = {} }: Action,
  allowed: readonly string[],
  editedAction: string,
  answer: ResolvedInput,
  refused: (reason: string) => void,
): ReviewDecision {
  const { isApproved, arguments: edited, reason } = decisionOf(answer);
  if (isApproved && (edited !== undefined || !allowed.includes('approve')))
    return { type: 'edit', [editedAction]: { name, args: edited ?? args } };
  if (isApproved) return { type: 'approve' };
  const message = notExecuted(reason);
  refused(message);
  const isReply = !allowed.includes('reject') && allowed.includes('respond');
  return { type: isReply ? 'respond' : 'reject', message };
}
