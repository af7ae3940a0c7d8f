import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { header, type HostRequest, placesOf } from 'nest-agent-query/protocol';
import { isObject } from '../../view/json.js';
import { PastTurns } from '../../view/past-turns.js';
import { View } from '../../view/view.js';
import { invalidRequest } from '../refusals.js';
import { type ItemPage, listOf } from './item-page.js';
import { type Item, itemsOfAsking, itemsOfTurn } from './turn-items.js';

/** How many turns are read at once. */
const PAGE = 100;

const NO_FILES = placesOf({});

/** `{path}/conversations`: each is a session. */
@Injectable()
export class Conversations {
  constructor(private readonly view: View) {}

  async create(request: HostRequest): Promise<unknown> {
    const { endpoint } = this.view;
    if (header(request, 'content-type') === undefined) return this.#create(await endpoint.owner(request));
    return endpoint.withBody(request, NO_FILES, ({ value }, owner) => {
      checkBody(value);
      return this.#create(owner);
    });
  }

  async #create(owner: string): Promise<unknown> {
    const seconds = Math.floor(Date.now() / 1000).toString(16);
    const id = `conv_${seconds}${randomBytes(12).toString('hex')}`;
    await this.view.endpoint.agent.createSession(owner, id);
    return conversation(id, '');
  }

  async retrieve(request: HostRequest, id: string): Promise<unknown> {
    const owner = await this.view.endpoint.owner(request);
    const { turns } = await this.view.endpoint.agent.session(owner, id, 0, 1);
    return conversation(id, turns[0]?.createdAt ?? '');
  }

  async erase(request: HostRequest, id: string): Promise<unknown> {
    await this.view.endpoint.agent.erase(await this.view.endpoint.owner(request), id);
    return { id, object: 'conversation.deleted', deleted: true };
  }

  async items(request: HostRequest, id: string, page: ItemPage): Promise<unknown> {
    return listOf(this.#items(await this.view.endpoint.owner(request), id), page);
  }

  async *#items(owner: string, id: string): AsyncGenerator<Item> {
    const { agent } = this.view.endpoint;
    // First: a run that ends meanwhile is among these, in the turns, or in both.
    const turnsAsking = await new PastTurns(agent, owner, id).asking();
    const asking = new Map(turnsAsking.map((turn) => [turn.runId, turn]));
    for (let after: number | null = 0; after !== null;) {
      const { turns, next } = await agent.session(owner, id, after, PAGE);
      for (const turn of turns) {
        asking.delete(turn.runId);
        yield* itemsOfTurn(turn);
      }
      after = next;
    }
    for (const turn of asking.values()) yield* await itemsOfAsking(turn);
  }
}

/** A session keeps nothing but its turns. */
function checkBody(value: unknown): void {
  if (!isObject(value)) throw invalidRequest('', 'must be an object');
  const { items, metadata } = value;
  if (Array.isArray(items) && items.length > 0)
    throw invalidRequest('/items', 'must be empty: send them as the input of the first response');
  if (isObject(metadata) && Object.keys(metadata).length > 0)
    throw invalidRequest('/metadata', 'must be empty: send the metadata of each response');
}

/** @param first the time of its first turn */
function conversation(id: string, first: string) {
  const [, seconds] = /^conv_([\da-f]{8})[\da-f]{24}$/.exec(id) ?? [];
  const time = seconds === undefined ? Math.floor((Date.parse(first) || 0) / 1000) : parseInt(seconds, 16);
  return { id, object: 'conversation', created_at: time, metadata: {} };
}
