import type { ApiKey } from './api-key.js';
import { Calls } from './calls.js';
import { Conversation } from './conversation.js';
import type { Endpoint } from './endpoints.js';
import { Sessions } from './sessions.js';

/** One endpoint, and what was asked there. */
export class Service {
  readonly calls: Calls;
  readonly sessions: Sessions;
  readonly #conversations = new Map<string, Conversation>();

  constructor(
    readonly endpoint: Endpoint,
    key: ApiKey,
  ) {
    this.calls = new Calls(endpoint, key);
    this.sessions = new Sessions(this.calls);
  }

  /** A conversation that was opened stays open: its run has a follower, also while another one is shown. */
  conversation(id: string): Conversation {
    let conversation = this.#conversations.get(id);
    if (!conversation) {
      conversation = new Conversation(id, this.calls, this.sessions);
      this.#conversations.set(id, conversation);
    }
    return conversation;
  }

  /** @returns whether the conversation is open in this window */
  isOpen(id: string): boolean {
    return this.#conversations.has(id);
  }

  async erase(id: string): Promise<void> {
    await this.calls.during(() => this.calls.client.erase(id));
    this.#conversations.delete(id);
    this.sessions.erased(id);
  }
}
