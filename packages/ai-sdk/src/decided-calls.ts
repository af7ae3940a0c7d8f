import type { ModelMessage, ToolApprovalRequest, ToolContent, ToolResultPart, ToolSet } from 'ai';
import { type MessagePart, newestStep, partsOf } from './open-calls.js';
import type { StreamPart } from './part-envelopes.js';
import { type ToolOutput, toolOutput } from './tool-output.js';

/** The calls that were approved or refused, until each has its result: the SDK executes them before it asks the model. */
export class DecidedCalls {
  /** Why calls are refused, by their ids. */
  readonly refusals = new Map<string, string>();
  readonly #waiting = new Set<string>();
  readonly #results: ToolResultPart[] = [];

  /** @param messages what the model and its tools have said in this run, with the answers to all questions */
  constructor(
    private readonly messages: ModelMessage[],
    private readonly tools: ToolSet,
  ) {
    const last = messages.at(-1);
    const told = last?.role === 'tool' ? last.content : [];
    const requests = partsOf(messages[newestStep(messages)]);
    for (const part of told) {
      if (part.type !== 'tool-approval-response') continue;
      const id = requests.find((each) => isRequestWith(part.approvalId, each))?.toolCallId;
      const hasResult = told.some((each) => each.type === 'tool-result' && each.toolCallId === id);
      if (id === undefined || hasResult) continue;
      if (!part.approved && part.reason !== undefined) this.refusals.set(id, part.reason);
      if (!part.providerExecuted) this.#waiting.add(id);
    }
  }

  /**
   * A part of the stream of the SDK.
   *
   * @returns if now all calls have their results: the messages with these in the place of the answers. With them, the SDK executes
   * no call again
   */
  async add(part: StreamPart): Promise<ModelMessage[] | undefined> {
    if (!isEndOfCall(part) || !this.#waiting.delete(part.toolCallId)) return undefined;
    const { toolCallId, toolName } = part;
    this.#results.push({ type: 'tool-result', toolCallId, toolName, output: await this.#outputOf(part) });
    if (this.#waiting.size > 0) return undefined;
    const { content } = this.messages.at(-1) as { content: ToolContent };
    const others = content.filter((each) => each.type !== 'tool-approval-response' || each.providerExecuted);
    return [...this.messages.slice(0, -1), { role: 'tool', content: [...others, ...this.#results] }];
  }

  async #outputOf(part: EndOfCall): Promise<ToolOutput> {
    if (part.type === 'tool-result') return toolOutput(this.tools, part, part.output);
    if (part.type === 'tool-output-denied') {
      const reason = this.refusals.get(part.toolCallId);
      return { type: 'execution-denied', ...(reason !== undefined && { reason }) };
    }
    const { error } = part;
    return toolOutput(this.tools, part, error instanceof Error ? error.message : String(error), true);
  }
}

function isRequestWith(approvalId: string, part: MessagePart): part is ToolApprovalRequest {
  return part.type === 'tool-approval-request' && part.approvalId === approvalId;
}

type EndOfCall = Extract<StreamPart, { type: 'tool-result' | 'tool-error' | 'tool-output-denied' }>;

function isEndOfCall(part: StreamPart): part is EndOfCall {
  if (part.type === 'tool-result') return !part.preliminary;
  return part.type === 'tool-error' || part.type === 'tool-output-denied';
}
