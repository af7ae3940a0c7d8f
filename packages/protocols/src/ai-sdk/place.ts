import type { AgentService, QueryOptions } from 'nest-agent-query';
import { type ChatRequest, earlierTexts, isOfAgent, type Message } from './chat-request.js';
import { newestOf, turnsBefore } from './chat-turns.js';
import { isEarlierId, turnIdOf } from './message-id.js';

/** Which turns of its session a query follows, and what was said after these. */
export type Place = Pick<QueryOptions, 'afterTurn' | 'earlier'>;

/** @throws {QueryError} see `turnsBefore` */
export async function placeOf(agent: AgentService, owner: string, chat: ChatRequest): Promise<Place> {
  const { chatId, messages, messageId, replaces, isWhole } = chat;
  const history = messages.slice(0, -1);
  if (chatId === undefined) return { earlier: earlierTexts(history) };
  if (isWhole && messageId === undefined)
    return new ShownHistory(history, agent, owner, chatId).end(replaces);
  return replaces ? { afterTurn: await turnsBefore(agent, owner, chat) } : {};
}

/** A message that a turn of a session may have become. */
interface OwnMessage {
  index: number;
  runId: string;
}

/**
 * The messages that a page shows before a query. After an edit, or where the user has gone back to an earlier version, they are not
 * those of the session: the turns count that both have, and then the texts that only the page has.
 */
class ShownHistory {
  readonly #own: OwnMessage[];

  constructor(
    private readonly messages: readonly Message[],
    private readonly agent: AgentService,
    private readonly owner: string,
    private readonly session: string,
  ) {
    this.#own = messages.flatMap(({ id }, index) => {
      const runId = turnIdOf(id);
      return runId === undefined ? [] : [{ index, runId }];
    });
  }

  /** @param replaces whether the query was in the session already */
  async end(replaces: boolean): Promise<Place> {
    const newest = await newestOf(this.agent, this.owner, this.session);
    // Without ids of ours, nothing tells what the session has of the messages.
    if (!newest || !this.#isKnown) return {};
    const last = this.#own.at(-1);
    const isLast = last?.index === this.messages.length - 1 && last.runId === newest.id;
    const isUnanswered = this.messages.length > 0 && !isOfAgent(this.messages.at(-1)!);
    // A run that has not ended is no turn yet: the query waits for it.
    if (newest.endedAt === null && !replaces && (isLast || isUnanswered)) return {};
    if (newest.endedAt !== null && isLast) return {};
    const { number, index } = await this.#lastTurn();
    const earlier = earlierTexts(this.messages.slice(index + 1));
    return { afterTurn: number, ...(earlier.length > 0 && { earlier }) };
  }

  get #isKnown(): boolean {
    return (
      this.messages.length === 0 || this.#own.length > 0 || this.messages.some(({ id }) => isEarlierId(id))
    );
  }

  /** The last message that is a turn of the session: those before it are too. */
  async #lastTurn(): Promise<{ number: number; index: number }> {
    let found = { number: 0, index: -1 };
    for (let [low, high] = [0, this.#own.length - 1], at = high; low <= high; at = (low + high) >> 1) {
      const { index, runId } = this.#own[at]!;
      const turn = await this.agent.turn(this.owner, this.session, runId);
      if (turn) [found, low] = [{ number: turn.number, index }, at + 1];
      else high = at - 1;
    }
    return found;
  }
}
