import type { Envelope } from 'nest-agent-query';

/** What a checkpoint has: what the agent has said and done so far. */
export interface KeptAnswer {
  envelopes: Envelope[];
}

/** Collects the envelopes of an answer with which a later attempt goes on. */
export class AnswerRecord {
  readonly #envelopes: Envelope[];
  #texts: string[] = [];

  constructor(before: readonly Envelope[]) {
    this.#envelopes = [...before];
  }

  add(envelope: Envelope): void {
    if (envelope.type === 'message') this.#texts.push((envelope.data as { content: string }).content);
    if (envelope.type !== 'tool_call' && envelope.type !== 'tool_result') return;
    this.#closeText();
    this.#envelopes.push(envelope);
  }

  get kept(): KeptAnswer {
    this.#closeText();
    return { envelopes: this.#envelopes };
  }

  #closeText(): void {
    if (this.#texts.length === 0) return;
    this.#envelopes.push({ type: 'message', data: { content: this.#texts.join('') } });
    this.#texts = [];
  }
}
