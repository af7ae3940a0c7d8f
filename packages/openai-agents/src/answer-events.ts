import type { RunStreamEvent } from '@openai/agents';
import { type Envelope, message, reasoning } from 'nest-agent-query';
import { cutModel, modelUsage } from 'nest-agent-query-adapters';
import { envelopesOfItem } from './item-envelopes.js';
import { type ProviderEvent, reasoningOf } from './reasoning-deltas.js';
import type { ToolOutcomes } from './result-envelopes.js';

type ModelEvent = Extract<RunStreamEvent, { type: 'raw_model_stream_event' }>['data'];
type ResponseDone = Extract<ModelEvent, { type: 'response_done' }>;
type Counts = Record<string, number> | Record<string, number>[] | undefined;

/** What is known of the response of the model that is received. Its items come after its end, as a whole. */
class ModelResponse {
  hasText = false;
  hasReasoning = false;
  hasEnded = false;
  model: string | undefined;
  /** Whether a stream of chat completions has said why it ends; undefined for any other stream. */
  isFinished: boolean | undefined;
}

/** Makes envelopes of the events of a framework's run. */
export class AnswerEvents {
  #response = new ModelResponse();
  readonly #sources = new Set<string>();
  #inputTokens = 0;
  #outputTokens = 0;

  constructor(private readonly outcomes: ToolOutcomes) {}

  /**
   * @returns none, one or several envelopes: nothing is made for each of many small pieces but their envelope
   * @throws {QueryError} the stream of the model is cut
   */
  take(event: RunStreamEvent): Envelope | Envelope[] | undefined {
    if (event.type === 'raw_model_stream_event') return this.#modelEvent(event.data);
    if (event.type === 'run_item_stream_event')
      return envelopesOfItem(event.item, this.#response, this.#sources, this.outcomes);
    return undefined;
  }

  /** What models of other agents have used, which this agent calls as tools: their events are not part of the run's. */
  usageBesides(total: { inputTokens: number; outputTokens: number }): Envelope | undefined {
    const inputTokens = total.inputTokens - this.#inputTokens;
    const outputTokens = total.outputTokens - this.#outputTokens;
    return modelUsage({ inputTokens, outputTokens });
  }

  #modelEvent(event: ModelEvent): Envelope | undefined {
    switch (event.type) {
      case 'output_text_delta':
        this.#current().hasText = true;
        return event.delta === '' ? undefined : message(event.delta);
      case 'model':
        return this.#providerEvent(event.event as ProviderEvent, event.providerData?.['rawModelEventSource']);
      case 'response_started':
        this.#current().model = modelOf(event.providerData);
        return undefined;
      case 'response_done':
        return this.#done(event);
      default:
        return undefined;
    }
  }

  /** The response that is received; a new one if the one before has ended. */
  #current(): ModelResponse {
    if (this.#response.hasEnded) this.#response = new ModelResponse();
    return this.#response;
  }

  /** An event of the model's provider, as it is. The one that ends a response comes after the framework's own event for it. */
  #providerEvent(event: ProviderEvent, source: unknown): Envelope | undefined {
    this.#response.model ??= modelOf(event);
    if (source === 'openai-chat-completions') {
      const isFinished = event.choices?.some((choice) => choice.finish_reason) === true;
      this.#response.isFinished = this.#response.isFinished === true || isFinished;
    }
    const delta = reasoningOf(event);
    if (!delta) return undefined;
    this.#current().hasReasoning = true;
    return reasoning(delta.content, { id: delta.id });
  }

  #done(event: ResponseDone): Envelope | undefined {
    const response = this.#current();
    response.hasEnded = true;
    if (response.isFinished === false) throw cutModel();
    return this.#usage(event);
  }

  #usage({ response: { usage: used, providerData } }: ResponseDone): Envelope | undefined {
    const { inputTokens, outputTokens } = used;
    this.#inputTokens += inputTokens;
    this.#outputTokens += outputTokens;
    return modelUsage({
      inputTokens,
      outputTokens,
      reasoningTokens: sumOf(used.outputTokensDetails, 'reasoning_tokens'),
      cachedInputTokens: sumOf(used.inputTokensDetails, 'cached_tokens'),
      model: modelOf(providerData) ?? this.#response.model,
    });
  }
}

/** The name of the model, which providers state in their events or in the response of one. */
function modelOf(data: ProviderEvent | undefined): string | undefined {
  const model = data?.model ?? data?.response?.model;
  return typeof model === 'string' ? model : undefined;
}

function sumOf(counts: Counts, name: string): number | undefined {
  const values = [counts ?? []].flat().flatMap((count) => count[name] ?? []);
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}
