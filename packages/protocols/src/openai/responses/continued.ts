import { Injectable } from '@nestjs/common';
import { QueryError, type QueryOptions, type RunView } from 'nest-agent-query';
import { View } from '../../view/view.js';
import { answerItem, type Item, itemsOfQuery } from '../conversations/turn-items.js';
import { invalidRequest, notFound } from '../refusals.js';
import type { InputItem } from './input-items.js';
import { PastItems } from './past-items.js';
import { isOfResponses, newSession, responseIdOf } from './response-id.js';
import type { ResponseRequest } from './response-request.js';

/** Where a new response belongs. */
export interface Place {
  /** Undefined: it belongs to no conversation. */
  session: unknown;
  /** How the session must be, or is made with the response. */
  options: Pick<QueryOptions, 'afterRun' | 'fork'>;
  /** How many of the items before the query the session has already. */
  known: number;
}

/** Finds the sessions that responses belong to. */
@Injectable()
export class Continued {
  constructor(private readonly view: View) {}

  /**
   * The place of a new response. `previous_response_id`, and ids of items, name the conversation up to and including a response, the
   * newest of those that are named: it goes on in the session of that response, or in a fork if the session has gone on.
   *
   * @param before the items before the query
   * @param named the session in the kwargs
   * @param key a repeated request with the same idempotency key has the same place
   * @throws {QueryError} `not_found` · `invalid_query`
   */
  async placeOf(
    owner: string,
    { previous, conversation, isStored }: ResponseRequest,
    { before, named, key }: { before: readonly InputItem[]; named: unknown; key: string | undefined },
  ): Promise<Place> {
    const given = conversation ?? named ?? undefined;
    const items = new PastItems(this.#agent, owner, before, isStored && given !== '');
    if (previous !== undefined) return this.#after(owner, items, key, await this.#previous(owner, previous));
    // Such a conversation exists before its first response.
    if (conversation?.startsWith('conv_')) await this.#agent.session(owner, conversation, 0, 1);
    const isNamed = typeof given === 'string' && given !== '';
    if (isNamed) return { session: given, options: {}, known: (await items.knownIn(given)).count };
    const session = await items.session();
    // What is no name of a session is refused with the query.
    const isNone = given === undefined || given === '';
    if (session !== undefined && isNone) return this.#after(owner, items, key, { session });
    return { session: given ?? (isStored ? newSession(key) : undefined), options: {}, known: 0 };
  }

  /** The items of the query of a run; or those of the answers with which a later leg begins. */
  async inputOf(owner: string, run: RunView, leg: number): Promise<Item[]> {
    if (leg > 1) return this.#answersOf(owner, run, leg);
    const kept = await this.#agent.parts(owner, run.id);
    if (!kept) throw notFound('input');
    return itemsOfQuery(run.id, kept);
  }

  /** @throws {QueryError} `session_busy`: the response belongs to a longer conversation, or to one of its caller */
  async erase(owner: string, { id, session }: RunView): Promise<void> {
    const isOwn = session !== null && isOfResponses(session);
    if (!isOwn || !(await this.#isAlone(owner, id, session))) {
      const detail = 'Only a response without other responses in its conversation can be deleted.';
      throw new QueryError('session_busy', detail);
    }
    await this.#agent.erase(owner, session);
  }

  /** Requests that were asked at the same time are those of one pause. */
  async #answersOf(owner: string, { id }: RunView, leg: number): Promise<Item[]> {
    const { inputs } = await this.#agent.inputs.of(owner, id);
    const pauses = [...new Set(inputs.map(({ askedAt }) => askedAt))];
    const asked = inputs.filter(({ askedAt, resolved }) => resolved && askedAt === pauses[leg - 2]);
    if (asked.length === 0) throw notFound('response');
    return asked.flatMap((input) =>
      input.resolved!.outcome === 'answered' ? [answerItem(id, input, input.resolved!.value)] : [],
    );
  }

  async #previous(owner: string, id: string): Promise<{ session: string; previous: RunView }> {
    const previous = await this.#agent.find(owner, responseIdOf(id).runId);
    const { session } = previous;
    if (session !== null) return { session, previous };
    throw invalidRequest('/previous_response_id', 'is a response that belongs to no conversation');
  }

  async #after(
    owner: string,
    items: PastItems,
    key: string | undefined,
    { session, previous }: { session: string; previous?: RunView },
  ): Promise<Place> {
    const { newest, count: known } = await items.knownIn(session, previous);
    if (!newest) return { session, options: {}, known };
    const { runId, pointer } = newest;
    const { runs } = await this.#agent.runs(owner, { session, limit: 1 });
    if (runs[0]?.id === runId && key === undefined) return { session, options: { afterRun: runId }, known };
    const found = await this.#agent.turn(owner, session, runId);
    if (!found) throw invalidRequest(pointer, 'is of a response whose conversation is no longer kept');
    // A request with the same idempotency key may have made it.
    return { session: newSession(key), options: { fork: { session, afterTurn: found.number } }, known };
  }

  async #isAlone(owner: string, runId: string, session: string): Promise<boolean> {
    const { runs } = await this.#agent.runs(owner, { session, limit: 2 });
    const { turns } = await this.#agent.session(owner, session, 0, 2);
    return [...runs.map(({ id }) => id), ...turns.map((turn) => turn.runId)].every((id) => id === runId);
  }

  get #agent() {
    return this.view.endpoint.agent;
  }
}
