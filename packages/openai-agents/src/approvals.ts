import type { RunToolApprovalItem } from '@openai/agents';
import type { QueryContext, Question, ResolvedInput } from 'nest-agent-query';
import { decisionOf, notExecuted, questionKey } from 'nest-agent-query-adapters';
import type { State } from './agent-stream.js';
import { argumentsOf } from './arguments.js';
import type { OpenAIAgentsOptions, ToolApproval } from './openai-agents-options.js';

/** A call that waits for a decision. */
interface OpenCall {
  item: RunToolApprovalItem;
  call: ToolApproval;
}

/** Decides about the calls of one run that need approvals: the host does, or a person. */
export class Approvals {
  /** The ids of calls that were refused. */
  readonly #refused = new Set<string>();
  /** The keys of the questions of the pauses before. */
  readonly #asked: string[];

  /**
   * @param approve the host's decision
   * @param asked the keys of the questions of earlier attempts
   */
  constructor(
    private readonly context: QueryContext,
    private readonly approve: OpenAIAgentsOptions['approve'],
    asked: readonly string[] = [],
  ) {
    this.#asked = [...asked];
  }

  get asked(): readonly string[] {
    return this.#asked;
  }

  isRefused(callId: string): boolean {
    return this.#refused.has(callId);
  }

  /**
   * Decides about all calls for which the framework waits.
   *
   * @param checkpoint makes what another attempt asks the same questions with
   */
  async decide(state: State, checkpoint: () => unknown): Promise<void> {
    const open: OpenCall[] = [];
    for (const item of state.getInterruptions()) {
      const call = callOf(item);
      const isAllowed = await this.approve?.(call, this.context);
      if (isAllowed === undefined) open.push({ item, call });
      else if (isAllowed) state.approve(item);
      else state.reject(item);
    }
    if (open.length === 0 || this.context.signal.aborted) return;
    const questions = this.#questions(open, state.currentAgent?.name);
    const answers = await this.context.ask(questions, { checkpoint: checkpoint() });
    this.#asked.push(...questions.map(({ key }) => key));
    for (const [index, { item, call }] of open.entries()) this.#answer(state, item, call, answers[index]!);
  }

  #answer(state: State, item: RunToolApprovalItem, call: ToolApproval, answer: ResolvedInput): void {
    const { isApproved, reason } = decisionOf(answer);
    this.#refused.delete(call.id);
    if (isApproved) return state.approve(item);
    this.#refused.add(call.id);
    state.reject(item, { message: notExecuted(reason) });
  }

  #questions(open: OpenCall[], current: string | undefined): Question[] {
    const taken = [...this.#asked];
    return open.map(({ call: { id, name, arguments: args, agent } }) => {
      taken.push(questionKey(id, taken));
      return {
        key: taken.at(-1)!,
        kind: 'approval',
        message: `May the agent call the tool ${JSON.stringify(name)}?`,
        // A call of an agent that is a tool itself is not in the answer.
        ...(agent === current && { toolCallId: id }),
        name,
        arguments: args,
      };
    });
  }
}

function callOf(item: RunToolApprovalItem): ToolApproval {
  const { rawItem, agent, name = rawItem.type } = item;
  const id = 'callId' in rawItem ? rawItem.callId : (rawItem.id ?? '');
  return { id, name, arguments: argumentsOf(item.arguments), agent: agent.name };
}
