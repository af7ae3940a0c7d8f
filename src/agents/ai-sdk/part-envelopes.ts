import type { FinishReason, TextStreamPart, ToolSet } from 'ai';
import {
  type Envelope,
  log,
  message,
  reasoning,
  source,
  toolCall,
  toolResult,
  usage,
} from '../../query/index.js';
import { shownResult, toolFailure } from '../translation/index.js';

/** A part of the stream of the AI SDK. */
export type StreamPart = TextStreamPart<ToolSet>;

type PartOf<T extends StreamPart['type']> = Extract<StreamPart, { type: T }>;

/** Why an answer ends before the model has said everything. */
const EARLY_ENDS: Partial<Record<FinishReason, string>> = {
  length: 'The answer ends here because it has reached the limit of its length',
  'content-filter': 'The endpoint of the model has stopped the answer because of its content',
};

/** Extensions that are not the second half of the media type. */
const EXTENSIONS: Record<string, string> = {
  'image/jpeg': 'jpg',
  'image/svg+xml': 'svg',
  'audio/mpeg': 'mp3',
  'text/plain': 'txt',
};

/** Translates the stream of one run. */
export class PartEnvelopes {
  #files = 0;

  constructor(private readonly runId: string) {}

  /** The envelopes of a part; most parts have one or none. */
  of(part: StreamPart): Envelope[] {
    switch (part.type) {
      case 'text-delta':
        return part.text === '' ? [] : [message(part.text)];
      case 'reasoning-delta':
        return part.text === '' ? [] : [reasoning(part.text, { id: part.id })];
      case 'tool-call':
        return [toolCall(part.toolCallId, part.toolName, part.input ?? {})];
      case 'tool-result':
        return part.preliminary ? [] : [resultOf(part)];
      case 'tool-error':
        return [toolResult(part.toolCallId, this.#failureOf(part), { isError: true })];
      case 'tool-output-denied':
        return [toolResult(part.toolCallId, 'The call was not allowed.', { isError: true })];
      case 'tool-approval-request':
        return [log(`The tool ${JSON.stringify(part.toolCall.toolName)} waits for an approval`)];
      case 'source':
        return part.sourceType === 'url' ? [source(part.url, { title: part.title })] : [];
      case 'file':
        return [this.#file(part)];
      case 'finish-step':
        return endOfStep(part);
      default:
        return [];
    }
  }

  #failureOf({ toolName, error }: PartOf<'tool-error'>): string {
    const name = (error as Error | undefined)?.name;
    if (name === 'AI_NoSuchToolError') return 'The model has called a tool that does not exist.';
    if (name === 'AI_InvalidToolInputError')
      return 'The model has called the tool with arguments that it does not take.';
    return toolFailure(this.runId, toolName, error);
  }

  #file({ file: { mediaType, uint8Array } }: PartOf<'file'>): Envelope {
    const extension = EXTENSIONS[mediaType] ?? mediaType.replace(/^.*\//, '').replace(/[^a-z0-9].*$/i, '');
    const name = `file-${++this.#files}.${extension || 'bin'}`;
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
  return part.type === 'finish-step' && part.finishReason === 'other' && part.rawFinishReason === undefined;
}

function endOfStep({ usage: used, finishReason, response }: PartOf<'finish-step'>): Envelope[] {
  const early = EARLY_ENDS[finishReason];
  return [
    ...(used.inputTokens === undefined && used.outputTokens === undefined
      ? []
      : [
          usage({
            inputTokens: count(used.inputTokens) ?? 0,
            outputTokens: count(used.outputTokens) ?? 0,
            ...given('reasoningTokens', count(used.outputTokenDetails?.reasoningTokens)),
            ...given('cachedInputTokens', count(used.inputTokenDetails?.cacheReadTokens)),
            ...given('model', response.modelId),
          }),
        ]),
    ...(early === undefined ? [] : [log(early)]),
  ];
}

/** Endpoints send what they like. */
function count(tokens: number | undefined): number | undefined {
  return Number.isFinite(tokens) && tokens! >= 0 ? tokens : undefined;
}

function given<K extends string, V>(name: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [name]: value } as Record<K, V>);
}
