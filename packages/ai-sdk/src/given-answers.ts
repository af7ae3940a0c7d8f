import { asSchema, type ModelMessage, type ToolContent, type ToolSet } from 'ai';
import { type Envelope, type ResolvedInput, toolResult } from 'nest-agent-query';
import { callerResult, type Decision, decisionOf, shownResult } from 'nest-agent-query-adapters';
import { newestStep, type OpenCall } from './open-calls.js';
import { type CallOfTool, toolOf, toolOutput } from './tool-output.js';

type Input = Record<string, unknown>;

/** Puts answers into messages, in the form in which the SDK goes on with them. */
export class GivenAnswers {
  /** The results of the calls that the caller has executed. */
  readonly envelopes: Envelope[] = [];
  #messages: ModelMessage[];

  /** @param messages what the model and its tools have said in this run */
  constructor(
    messages: ModelMessage[],
    private readonly tools: ToolSet,
  ) {
    this.#messages = messages;
  }

  /** The messages with the answers. */
  get messages(): ModelMessage[] {
    return this.#messages;
  }

  /** @param answers in the order of the calls */
  async add(open: OpenCall[], answers: ResolvedInput[]): Promise<void> {
    for (const [index, { call, approval }] of open.entries()) {
      if (approval) await this.#decide(call, approval.approvalId, decisionOf(answers[index]!));
      else await this.#result(call, answers[index]!);
    }
  }

  async #result(call: CallOfTool, answer: ResolvedInput): Promise<void> {
    const { content, isError } = callerResult(answer);
    const { toolCallId, toolName } = call;
    this.envelopes.push(toolResult(toolCallId, shownResult(content), isError ? { isError } : {}));
    const output = await toolOutput(this.tools, call, content, isError);
    this.#tell({ type: 'tool-result', toolCallId, toolName, output });
  }

  async #decide(call: OpenCall['call'], approvalId: string, decision: Decision): Promise<void> {
    const { isApproved, reason } = decision.arguments
      ? await this.#change(call, decision.arguments)
      : decision;
    this.#tell({
      type: 'tool-approval-response',
      approvalId,
      approved: isApproved,
      ...(reason !== undefined && { reason }),
      ...(call.providerExecuted && { providerExecuted: true }),
    });
  }

  /** The SDK executes the call that the messages have, and the model reads its arguments as its own. */
  async #change({ toolCallId, toolName }: CallOfTool, given: Input): Promise<Decision> {
    const tool = toolOf(this.tools, toolName);
    const validated = tool && (await asSchema<Input>(tool.inputSchema).validate?.(given));
    if (validated?.success === false)
      return { isApproved: false, reason: 'The tool does not take the arguments of the approval.' };
    const input = validated ? validated.value : given;
    const index = newestStep(this.#messages);
    const parts = this.#messages[index]!.content as { type: string; toolCallId?: string }[];
    const content = parts.map((part) => {
      if (part.toolCallId !== toolCallId) return part;
      // The SDK validates what was given once more, and compares.
      return part.type === 'tool-call' ? { ...part, input } : { ...part, inputSchemaInput: given };
    });
    this.#messages = this.#messages.with(index, { role: 'assistant', content } as ModelMessage);
    return { isApproved: true };
  }

  /** All answers are in one message, the last: the SDK reads no other. */
  #tell(part: ToolContent[number]): void {
    const last = this.#messages.at(-1);
    if (last?.role !== 'tool') this.#messages = [...this.#messages, { role: 'tool', content: [part] }];
    else this.#messages = this.#messages.with(-1, { ...last, content: [...last.content, part] });
  }
}
