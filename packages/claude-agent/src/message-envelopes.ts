import { type Envelope, log, message, reasoning, toolCall, toolResult } from 'nest-agent-query';
import { cutModel, modelUsage, shownResult } from 'nest-agent-query-adapters';
import type { ClaudeMessage } from './sdk.js';
import { objectOf, toolView } from './tool-view.js';

type Members = Record<string, unknown>;

/** A message of the model that is being streamed. */
interface OpenMessage {
  id: string;
  model: unknown;
  usage: Members;
  hasContent: boolean;
  /** Whether the model has said why it stops. */
  hasReason: boolean;
}

/** What Claude says and does, as envelopes. Texts come twice, as they are streamed and whole: they are told once. */
export class MessageEnvelopes {
  #open: OpenMessage | undefined;
  /** The messages that were streamed. */
  readonly #streamed = new Set<string>();

  /**
   * @param refusals what is told of calls that were refused, by their ids
   * @param cwd the working directory: callers see paths in it without it
   * @throws {QueryError} `interrupted`: the answer of the model was cut. Claude Code says its beginning once more, and takes what it has then for a success
   */
  constructor(
    private readonly refusals: ReadonlyMap<string, string>,
    private readonly cwd: string,
  ) {}

  of(each: ClaudeMessage): Envelope[] {
    // What a subagent says is for Claude, not for the caller.
    const isInner = typeof each['parent_tool_use_id'] === 'string';
    if (each.type === 'stream_event') return isInner ? [] : this.#ofEvent(objectOf(each['event']));
    if (each.type === 'assistant') return this.#ofAssistant(each, isInner);
    if (each.type === 'user') return isInner ? [] : this.#ofResults(each);
    if (each.type === 'system') return this.#ofSystem(each);
    if (each.type === 'result' && each['subtype'] === 'success') this.refuseCut();
    return [];
  }

  /** @throws {QueryError} `interrupted`: a message has begun, and has no end */
  refuseCut(): void {
    if (this.#open?.hasContent) throw cutModel(new Error('The stream of the model has no end.'));
  }

  #ofEvent(event: Members): Envelope[] {
    if (event['type'] === 'message_start') {
      this.refuseCut();
      const { id, model, usage } = objectOf(event['message']);
      this.#open = { id: String(id), model, usage: objectOf(usage), hasContent: false, hasReason: false };
      this.#streamed.add(this.#open.id);
    }
    if (event['type'] === 'message_stop') {
      // Claude Code closes a message that was cut.
      if (!this.#open?.hasReason) this.refuseCut();
      this.#open = undefined;
    }
    if (event['type'] === 'content_block_delta') return this.#ofDelta(event);
    if (event['type'] === 'message_delta' && this.#open) {
      Object.assign(this.#open.usage, event['usage']);
      this.#open.hasReason ||= objectOf(event['delta'])['stop_reason'] != null;
      return usageOf(this.#open.usage, this.#open.model);
    }
    return [];
  }

  #ofDelta({ index, delta }: Members): Envelope[] {
    if (!this.#open) return [];
    const { type, text, thinking } = objectOf(delta);
    this.#open.hasContent = true;
    const id = `${this.#open.id}:${String(index)}`;
    if (type === 'text_delta' && typeof text === 'string' && text !== '') return [message(text)];
    if (type === 'thinking_delta' && typeof thinking === 'string' && thinking !== '')
      return [reasoning(thinking, { id })];
    return [];
  }

  #ofAssistant(each: ClaudeMessage, isInner: boolean): Envelope[] {
    const { id, model, content, usage, stop_reason: isWhole } = objectOf(each['message']);
    // An error of the endpoint comes as a text too: the result says it.
    if (each['error'] !== undefined || model === '<synthetic>') return [];
    const isStreamed = this.#streamed.has(String(id));
    const used = isWhole && !isStreamed ? usageOf(objectOf(usage), model) : [];
    if (isInner || !Array.isArray(content)) return used;
    return [...content.flatMap((block) => this.#ofBlock(objectOf(block), String(id), isStreamed)), ...used];
  }

  #ofBlock(block: Members, messageId: string, isStreamed: boolean): Envelope[] {
    const { type, id, name, input, text, thinking } = block;
    if (type === 'tool_use' && typeof id === 'string' && typeof name === 'string') {
      const call = toolCall(id, name, input ?? {});
      return [{ ...call, data: { ...call.data, ...toolView(name, input, this.cwd) } }];
    }
    if (isStreamed) return [];
    if (type === 'text' && typeof text === 'string' && text !== '') return [message(text)];
    if (type === 'thinking' && typeof thinking === 'string' && thinking !== '')
      return [reasoning(thinking, { id: messageId })];
    return [];
  }

  #ofResults(each: ClaudeMessage): Envelope[] {
    const { content } = objectOf(each['message']);
    if (!Array.isArray(content)) return [];
    return content.map(objectOf).flatMap(({ type, tool_use_id: id, content: result, is_error: isError }) => {
      if (type !== 'tool_result' || typeof id !== 'string') return [];
      const refusal = this.refusals.get(id);
      if (refusal !== undefined) return [toolResult(id, refusal, { isError: true })];
      return [toolResult(id, shownResult(withoutFrame(result)), isError === true ? { isError } : {})];
    });
  }

  #ofSystem(each: ClaudeMessage): Envelope[] {
    if (each['subtype'] === 'api_retry') {
      this.refuseCut();
      const { attempt, max_retries: most, error_status: status } = each;
      const why = typeof status === 'number' ? ` with the status ${status}` : '';
      return [
        log(`The endpoint of the model failed${why}. Attempt ${String(attempt)} of ${String(most)} follows.`),
      ];
    }
    if (each['subtype'] === 'compact_boundary')
      return [log('The conversation was summarized for the model.')];
    return [];
  }
}

/** Results are texts, or lists of parts: a list with one text is that text. */
function withoutFrame(result: unknown): unknown {
  if (!Array.isArray(result)) return result;
  const [only, ...others] = result.map(objectOf);
  return only && others.length === 0 && only['type'] === 'text' ? only['text'] : result;
}

/** Anthropic counts what comes from the cache, or goes there, by itself. */
function usageOf(usage: Members, model: unknown): Envelope[] {
  const count = (name: string) => Number(usage[name] ?? 0);
  const cachedInputTokens = count('cache_read_input_tokens');
  const used = modelUsage({
    inputTokens: count('input_tokens') + cachedInputTokens + count('cache_creation_input_tokens'),
    outputTokens: count('output_tokens'),
    cachedInputTokens: cachedInputTokens || undefined,
    reasoningTokens: objectOf(usage['output_tokens_details'])['thinking_tokens'] || undefined,
    model,
  });
  return used ? [used] : [];
}
