import type { FinishReason, TextStreamPart, ToolSet } from 'ai';
import { type Envelope, log, reasoning, source, toolCall, toolResult } from 'nest-agent-query';
import { fileName, modelUsage, notExecuted, shownResult, toolFailure } from 'nest-agent-query-adapters';

/** A part of the stream of the AI SDK. */
export type StreamPart = TextStreamPart<ToolSet>;

type PartOf<T extends StreamPart['type']> = Extract<StreamPart, { type: T }>;

/** Why an answer ends before the model has said everything. */
const EARLY_ENDS: Partial<Record<FinishReason, string>> = {
  length: 'The answer ends here because it has reached the limit of its length',
  'content-filter': 'The endpoint of the model has stopped the answer because of its content',
};

/** How endpoints, such as vLLM and OpenRouter, say that they have stopped in the middle of an answer. */
const STOPPED = new Set(['abort', 'error']);

/** Translates the stream of one run. */
export class PartEnvelopes {
  /** Why calls are refused, by their ids. */
  refusals: ReadonlyMap<string, string> = new Map();
  #files = 0;
  /** The calls of this step that are not valid, by their ids, and what comes of them. If the step is cut, they were not whole. */
  readonly #invalid = new Map<string, Envelope[]>();

  constructor(private readonly runId: string) {}

  /** The envelopes of a part that is no text; most parts have one or none. */
  of(part: StreamPart): Envelope[] {
    switch (part.type) {
      case 'reasoning-delta':
        return part.text === '' ? [] : [reasoning(part.text, { id: part.id })];
      case 'tool-call':
        return this.#call(part);
      case 'tool-result':
        return part.preliminary ? [] : [resultOf(part)];
      case 'tool-error':
        return this.#failure(part);
      case 'tool-output-denied':
        return [
          toolResult(part.toolCallId, notExecuted(this.refusals.get(part.toolCallId)), { isError: true }),
        ];
      case 'source':
        return part.sourceType === 'url' ? [source(part.url, { title: part.title })] : [];
      case 'file':
        return [this.#file(part)];
      case 'finish-step':
        return [...this.#invalidCalls(), ...endOfStep(part)];
      default:
        return [];
    }
  }

  #call({ toolCallId, toolName, input, invalid }: PartOf<'tool-call'>): Envelope[] {
    const call = toolCall(toolCallId, toolName, input ?? {});
    if (!invalid) return [call];
    this.#invalid.set(toolCallId, [call]);
    return [];
  }

  #failure({ toolCallId, toolName, error }: PartOf<'tool-error'>): Envelope[] {
    const result = (sentence: string) => toolResult(toolCallId, sentence, { isError: true });
    const held = this.#invalid.get(toolCallId);
    if (!held) return [result(toolFailure(this.runId, toolName, error))];
    held.push(result('There is no such tool, or it does not take these arguments.'));
    return [];
  }

  #invalidCalls(): Envelope[] {
    const envelopes = [...this.#invalid.values()].flat();
    this.#invalid.clear();
    return envelopes;
  }

  #file({ file: { mediaType, uint8Array } }: PartOf<'file'>): Envelope {
    const name = fileName(mediaType, undefined, `file-${++this.#files}`);
    return { type: 'file', data: { name, mimeType: mediaType, content: uint8Array } };
  }
}

function resultOf({ toolCallId, output }: PartOf<'tool-result'>): Envelope {
  // What tools of MCP servers return says by itself whether they have failed.
  const isError = (output as { isError?: unknown } | null | undefined)?.isError === true;
  return toolResult(toolCallId, shownResult(output), isError ? { isError } : {});
}

/** Whether the model has not ended its step. The SDK takes what has come as the whole answer. */
export function isCut(part: StreamPart): boolean {
  if (part.type !== 'finish-step' || part.finishReason !== 'other') return false;
  return part.rawFinishReason === undefined || STOPPED.has(part.rawFinishReason);
}

function endOfStep({ usage: used, finishReason, response }: PartOf<'finish-step'>): Envelope[] {
  const early = EARLY_ENDS[finishReason];
  const envelope = modelUsage({
    inputTokens: used.inputTokens,
    outputTokens: used.outputTokens,
    reasoningTokens: used.outputTokenDetails?.reasoningTokens,
    cachedInputTokens: used.inputTokenDetails?.cacheReadTokens,
    model: response.modelId,
  });
  return [...(envelope ? [envelope] : []), ...(early === undefined ? [] : [log(early)])];
}
