import { Buffer } from 'node:buffer';
import {
  type Envelope,
  file,
  log,
  message,
  QueryError,
  reasoning,
  result,
  source,
  toolCall,
  toolResult,
} from 'nest-agent-query';
import { fileName, modelUsage, notExecuted, shownResult, toolFailure } from 'nest-agent-query-adapters';
import { MastraFailure } from './failures.js';

/** A chunk of an agent's stream. */
export interface MastraChunk {
  type: string;
  payload?: unknown;
  /** Of chunks whose type begins with `data-`. */
  data?: unknown;
  /** Of the chunk `object-result`. */
  object?: unknown;
}

type Payload = Record<string, unknown>;

/** Makes envelopes of the chunks of one run. */
export class ChunkEnvelopes {
  #files = 0;

  /** @param refusals why calls were refused, by their ids */
  constructor(
    private readonly runId: string,
    private readonly refusals: ReadonlyMap<string, string> = new Map(),
  ) {}

  /**
   * @returns undefined if callers see nothing of the chunk
   * @throws {QueryError} the agent cannot go on · {MastraFailure} an error of the model or of the framework
   */
  of(chunk: MastraChunk): Envelope | undefined {
    const payload = (chunk.payload ?? {}) as Payload;
    switch (chunk.type) {
      case 'text-delta':
        return payload['text'] === '' ? undefined : message(payload['text'] as string);
      case 'reasoning-delta':
        return reasoning(payload['text'] as string, { id: payload['id'] as string });
      case 'tool-call':
        return toolCall(idOf(payload), payload['toolName'] as string, payload['args'] ?? {});
      case 'tool-result':
        return this.#result(payload);
      case 'tool-output-denied':
        return this.#refused(idOf(payload));
      case 'tool-error':
        return this.#toolFailed(payload, payload['error']);
      case 'source':
        return sourceOf(payload);
      case 'file':
        return this.#file(payload);
      case 'object-result':
        return result(chunk.object);
      case 'step-finish':
        return usageOf(payload);
      case 'tool-output':
        return usageOfInner(payload['output']);
      case 'finish':
        return endOf(payload);
      case 'error':
        throw new MastraFailure(payload['error']);
      case 'tripwire':
        throw new QueryError('handler_failed', 'A guardrail of the agent has stopped it.');
      default:
        return chunk.type.startsWith('data-') && chunk.data !== undefined
          ? { type: chunk.type, data: chunk.data }
          : undefined;
    }
  }

  #result(payload: Payload): Envelope {
    const { result: returned, isError } = payload;
    if (this.refusals.has(idOf(payload))) return this.#refused(idOf(payload));
    if (isToolFailure(returned)) return this.#toolFailed(payload, returned);
    const isFaulty = isError === true || isInvalidCall(returned);
    return toolResult(idOf(payload), shownResult(returned), { isError: isFaulty || undefined });
  }

  #refused(id: string): Envelope {
    return toolResult(id, this.refusals.get(id) ?? notExecuted(), { isError: true });
  }

  #toolFailed(payload: Payload, error: unknown): Envelope {
    const text = toolFailure(this.runId, payload['toolName'] as string, error);
    return toolResult(idOf(payload), text, { isError: true });
  }

  #file({ data, base64, mimeType }: Payload): Envelope {
    const content = data instanceof Uint8Array ? data : Buffer.from((base64 ?? data) as string, 'base64');
    const type = mimeType as string;
    const name = fileName(type, undefined, `file-${++this.#files}`);
    return file({ name, mimeType: type, content });
  }
}

function idOf({ toolCallId }: Payload): string {
  return toolCallId as string;
}

/** Mastra 0.24 gives the error of a tool as its result; later versions have a chunk for it. */
function isToolFailure(result: unknown): boolean {
  return (
    result instanceof Error || (result as Payload | undefined | null)?.['code'] === 'TOOL_EXECUTION_FAILED'
  );
}

/** What the framework returns in place of a tool whose arguments do not match its schema. */
function isInvalidCall(result: unknown): boolean {
  const { error, validationErrors } = (result ?? {}) as Payload;
  return error === true && validationErrors !== undefined;
}

function sourceOf({ url, title }: Payload): Envelope | undefined {
  if (typeof url !== 'string') return undefined;
  return source(url, { title: typeof title === 'string' ? title : undefined });
}

function usageOf({ output, metadata, response }: Payload): Envelope | undefined {
  const { usage: used } = (output ?? {}) as { usage?: Payload };
  return modelUsage({ ...used, model: ((metadata ?? response) as Payload | undefined)?.['modelId'] });
}

/** What an agent has used that this agent calls as a tool. */
function usageOfInner(chunk: unknown): Envelope | undefined {
  const { type, payload } = (chunk ?? {}) as MastraChunk;
  return type === 'step-finish' ? usageOf(payload as Payload) : undefined;
}

function endOf({ stepResult }: Payload): Envelope | undefined {
  const { reason } = (stepResult ?? {}) as { reason?: string };
  return reason === 'tool-calls' ? log('The agent has ended after the last step that it may do.') : undefined;
}
