import type { ApiKey } from './api-key.js';
import { Calls } from './calls.js';
import { Conversation } from './conversation.js';
import type { Endpoint } from './endpoints.js';
import { Inbox } from './inbox.js';
import { newId } from './new-id.js';
import type { Told } from './other-windows.js';
import { Sessions } from './sessions.js';

/** One endpoint, and what was asked there. */
export class Service {
  readonly calls: Calls;
  readonly sessions: Sessions;
  readonly inbox: Inbox;
  readonly #conversations = new Map<string, Conversation>();
  #unused: Conversation | undefined;

  constructor(
    readonly endpoint: Endpoint,
    key: ApiKey,
    private readonly tell: (session: string, told: Told) => void,
  ) {
    this.calls = new Calls(endpoint, key);
    this.sessions = new Sessions(this.calls);
    this.inbox = new Inbox(this.calls, this.sessions);
  }

  /** A conversation that was opened stays open: its run has a follower, also while another one is shown. */
  conversation(id: string): Conversation {
    let conversation = this.#conversations.get(id);
    if (!conversation) {
      conversation = new Conversation(id, this.calls, this.sessions, (told) => {
        this.tell(id, told);
        if (told.type === 'resolved') void this.inbox.reload();
      });
      this.#conversations.set(id, conversation);
    }
    return conversation;
  }

  /** The conversation in which nothing was asked yet. What the user has written there stays. */
  get unused(): Conversation {
    if (!this.#unused || this.#unused.turns.length > 0) this.#unused = this.conversation(newId());
    return this.#unused;
  }

  /** @returns whether the conversation is open in this window */
  isOpen(id: string): boolean {
    return this.#conversations.has(id);
  }

  async erase(id: string): Promise<void> {
    await this.calls.during(() => this.calls.client.erase(id));
    this.#conversations.delete(id);
    this.sessions.erased(id);
    this.tell(id, { type: 'changed' });
  }

  /** What another window tells. */
  hear(session: string, told: Told): void {
    this.#conversations.get(session)?.hear(told);
    if (told.type === 'resolved') void this.inbox.reload();
    if (told.type === 'asked' || told.type === 'changed') void this.sessions.reload();
  }
}
