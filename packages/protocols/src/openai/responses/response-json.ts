import type { RunView } from 'nest-agent-query';
import type { Piece } from 'nest-agent-query/protocol';
import type { Usage } from '../answer/items.js';
import type { RunError } from '../answer/run-error.js';
import { secondsOf } from '../seconds.js';
import { isOfResponses, type ResponseId, responseIdText } from './response-id.js';

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'failed' | 'cancelled';

/** What is known of a response besides its items. */
export interface ResponseState {
  status: ResponseStatus;
  error: RunError | null;
  usage: Usage | undefined;
  /** In seconds since the epoch. Default: it is not told. */
  completedAt?: number | undefined;
}

/** Writes a response as JSON. It does not repeat what the request has said: only the run is kept. */
export class ResponseJson {
  readonly #head: string;
  readonly #tail: string;

  constructor(id: ResponseId, run: RunView, model: string) {
    const { session, metadata = {} } = run;
    const previous = id.leg > 1 ? responseIdText({ ...id, leg: id.leg - 1 }) : null;
    this.#head = JSON.stringify({
      id: responseIdText(id),
      object: 'response',
      created_at: secondsOf(run.createdAt),
      background: id.isBackground,
    }).slice(0, -1);
    this.#tail = JSON.stringify({
      conversation: session === null || isOfResponses(session) ? null : { id: session },
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata,
      model,
      parallel_tool_calls: true,
      previous_response_id: previous,
      prompt_cache_key: null,
      reasoning: null,
      safety_identifier: null,
      service_tier: 'default',
      store: id.isStored,
      temperature: 1,
      text: { format: { type: id.isStructured ? 'json_object' : 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      truncation: 'disabled',
    }).slice(1);
  }

  /** @param items the JSON of each */
  pieces({ status, error, usage, completedAt }: ResponseState, items: Piece[][]): Piece[] {
    const state = { completed_at: completedAt ?? null, status, error, usage: usage ? usageOf(usage) : null };
    const output = items.flatMap((item, index) => (index === 0 ? item : [',', ...item]));
    return [`${this.#head},${JSON.stringify(state).slice(1, -1)},"output":[`, ...output, `],${this.#tail}`];
  }
}

function usageOf({ inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 }: Usage) {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}
