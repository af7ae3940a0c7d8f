import type { Envelope } from 'nest-agent-query';
import type { OpenCall } from './open-calls.js';

/** What a checkpoint has: what the agent has said and done so far. */
export interface KeptAnswer {
  envelopes: Envelope[];
  /** The keys of the questions that were answered. */
  asked?: readonly string[];
  /** Present if the run asks. */
  pause?: KeptPause;
}

/** Where the framework waits. */
export interface KeptPause {
  /** Names its execution in its storage. */
  mastraRunId: string;
  calls: OpenCall[];
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

  get envelopes(): Envelope[] {
    this.#closeText();
    return this.#envelopes;
  }

  /** The ids of the calls that have no result. */
  get openCalls(): string[] {
    const idsOf = (type: string) =>
      this.#envelopes
        .filter((envelope) => envelope.type === type)
        .map(({ data }) => (data as { id: string }).id);
    const ended = idsOf('tool_result');
    return idsOf('tool_call').filter((id) => !ended.includes(id));
  }

  #closeText(): void {
    if (this.#texts.length === 0) return;
    this.#envelopes.push({ type: 'message', data: { content: this.#texts.join('') } });
    this.#texts = [];
  }
}
