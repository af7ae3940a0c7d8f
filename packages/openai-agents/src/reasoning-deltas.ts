/** A piece of the reasoning that a model shows. */
export interface ReasoningDelta {
  content: string;
  /** Tells pieces of reasoning apart. */
  id: string | undefined;
}

/** What is read of the events of providers. */
export interface ProviderEvent {
  type?: unknown;
  delta?: unknown;
  id?: unknown;
  item_id?: string;
  summary_index?: number;
  content_index?: number;
  model?: unknown;
  response?: { model?: unknown };
  choices?: {
    delta?: { reasoning?: unknown; reasoning_content?: unknown };
    finish_reason?: unknown;
  }[];
}

/**
 * The reasoning in an event of a model's provider. The framework has no event of its own for it.
 *
 * @param event an event of OpenAI Responses, a chunk of chat completions, or a part of an AI SDK stream
 */
export function reasoningOf(event: ProviderEvent): ReasoningDelta | undefined {
  switch (event.type) {
    case 'response.reasoning_summary_text.delta':
      return deltaOf(event.delta, `${event.item_id}:${event.summary_index ?? 0}`);
    case 'response.reasoning_text.delta':
      return deltaOf(event.delta, `${event.item_id}:${event.content_index ?? 0}`);
    case 'reasoning-delta':
      return deltaOf(event.delta, event.id);
    default: {
      const delta = event.choices?.[0]?.delta;
      return delta && deltaOf(delta.reasoning ?? delta.reasoning_content, undefined);
    }
  }
}

function deltaOf(content: unknown, id: unknown): ReasoningDelta | undefined {
  if (typeof content !== 'string' || content === '') return undefined;
  return { content, id: typeof id === 'string' ? id : undefined };
}
