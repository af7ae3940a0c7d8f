import { Injectable } from '@nestjs/common';
import { QueryError, type RunView } from 'nest-agent-query';
import {
  EventStream,
  type HostRequest,
  type HostResponse,
  idempotencyKeyOf,
  type JsonPieces,
  type ReceivedBody,
} from 'nest-agent-query/protocol';
import { View } from '../../view/view.js';
import { readLog } from '../../view/read-log.js';
import { type ItemPage, listOf } from '../conversations/item-page.js';
import { answerFailed } from '../answer/run-error.js';
import { answerRun } from '../asking/answering.js';
import { modelOf } from '../model.js';
import { notFound } from '../refusals.js';
import { sentAlong } from '../request/conversation.js';
import { type Begun, Repeats } from '../repeats/repeats.js';
import { madeQuery } from '../request/made-query.js';
import { secondsOf } from '../seconds.js';
import { ResponseForm } from './response-form.js';
import { type ResponseId, responseIdText } from './response-id.js';
import { RESPONSE_PLACES, type ResponseRequest, responseQuery, responseRequest } from './response-request.js';
import { Continued } from './continued.js';

type Json = Record<string, unknown>;

/** How a response is retrieved. */
export interface Retrieval {
  isStream: boolean;
  /** The number of the last event that the client has. Default: it has none. */
  startingAfter: number | undefined;
}

/** `{path}/responses`. */
@Injectable()
export class Responses {
  constructor(
    private readonly view: View,
    private readonly continued: Continued,
    private readonly repeats: Repeats,
  ) {}

  async create(request: HostRequest, response: HostResponse): Promise<EventStream | JsonPieces> {
    return this.view.endpoint.withBody(request, RESPONSE_PLACES, async (body, owner) => {
      const asked = responseRequest(body.value);
      const begun =
        asked.answers.length > 0
          ? await this.#answer(owner, asked, response)
          : await this.repeats.once({ request, response, owner, body }, () =>
              this.#submit(owner, asked, body, request),
            );
      // The reply may wait long for the run.
      await body.release();
      return this.#reply(asked, begun, response);
    });
  }

  async retrieve(
    request: HostRequest,
    response: HostResponse,
    id: ResponseId,
    { isStream, startingAfter }: Retrieval,
  ): Promise<EventStream | JsonPieces> {
    const owner = await this.view.endpoint.owner(request);
    const { agent } = this.view.endpoint;
    const run = await agent.find(owner, id.runId);
    if (!isStream || id.leg > 1) {
      const json = await this.#present(owner, run, id, response);
      if (!isStream) return json;
    }
    const from = startingAfter === undefined ? 0 : startingAfter + 1;
    return new EventStream(agent.follow(owner, run.id, 0, { request }), this.#form(id, run, from));
  }

  /** What a response answers: the query of its run, or the answers to what the run has asked. */
  async inputItems(request: HostRequest, id: ResponseId, page: ItemPage): Promise<unknown> {
    const owner = await this.view.endpoint.owner(request);
    const run = await this.view.endpoint.agent.find(owner, id.runId);
    return listOf(await this.continued.inputOf(owner, run, id.leg), page);
  }

  async cancel(request: HostRequest, response: HostResponse, id: ResponseId): Promise<JsonPieces> {
    const owner = await this.view.endpoint.owner(request);
    const { run } = await this.view.endpoint.agent.cancel(owner, id.runId);
    return this.#present(owner, run, id, response);
  }

  /** Erases a response that is the only one of its conversation, and was given none by its caller. */
  async erase(request: HostRequest, id: ResponseId): Promise<Json> {
    const owner = await this.view.endpoint.owner(request);
    await this.continued.erase(owner, await this.view.endpoint.agent.find(owner, id.runId));
    return { id: responseIdText(id), object: 'response', deleted: true };
  }

  async #answer(
    owner: string,
    { answers, isBackground }: ResponseRequest,
    response: HostResponse,
  ): Promise<Begun> {
    const { endpoint } = this.view;
    const options = { detached: isBackground, response };
    const { runId, leg } = await answerRun(endpoint, owner, answers, options);
    const run = await endpoint.agent.find(owner, runId);
    return { run, leg, stream: endpoint.agent.follow(owner, runId, 0) };
  }

  async #submit(
    owner: string,
    asked: ResponseRequest,
    body: ReceivedBody,
    request: HostRequest,
  ): Promise<Begun> {
    const { endpoint } = this.view;
    const { kwargs, ...conversation } = responseQuery(asked, modelOf(this.view));
    const idempotencyKey = idempotencyKeyOf(request);
    const { session_id: named } = kwargs;
    const { before } = conversation;
    const place = await this.continued.placeOf(owner, asked, { before, named, key: idempotencyKey });
    const { session: session_id, known } = place;
    const { parts, earlier } = sentAlong(conversation, known);
    const { query, pointerOf } = madeQuery(asked.body, parts, { ...kwargs, session_id });
    const detached = asked.isBackground;
    const path = this.view.queryPath(request, 'responses');
    const own = { owner, earlier, request, path, idempotencyKey, detached };
    const options = { ...own, ...place.options };
    const stream = await endpoint.submit(body, query, options, pointerOf);
    return { run: (await stream.admitted).run!, stream, leg: 1 };
  }

  async #reply(
    { isBackground, isStored, isStream, isStructured }: ResponseRequest,
    { run, stream, leg }: Begun,
    response: HostResponse,
  ): Promise<EventStream | JsonPieces> {
    const id = { runId: run.id, leg, isStructured, isBackground, isStored };
    const form = this.#form(id, run, isStream ? 0 : Infinity);
    if (isStream) return new EventStream(stream, form);
    if (isBackground) return form.response({ status: 'queued' });
    await readLog(stream, form, { response });
    const { failure: error } = form;
    if (!error) return form.response();
    answerFailed(response);
    return form.response({ error });
  }

  /** A response as it is now. @throws {QueryError} `not_found`: the run has not come to this leg */
  async #present(owner: string, run: RunView, id: ResponseId, response: HostResponse): Promise<JsonPieces> {
    const form = this.#form(id, run, Infinity);
    const stream = this.view.endpoint.agent.follow(owner, run.id, 0);
    await readLog(stream, form, { response, until: run.events });
    const isReached = form.legs === id.leg && (form.isOver || run.status !== 'input_required');
    if (!isReached) throw notFound('response');
    const { endedAt, status } = run;
    const isQueued = status === 'waiting' && id.leg === 1;
    const isLast = status === 'completed' && form.items.at(-1)?.type !== 'asked';
    const completedAt = isLast && endedAt ? secondsOf(endedAt) : undefined;
    return form.response({ completedAt, ...(isQueued && { status: 'queued' }) });
  }

  #form(id: ResponseId, run: RunView, from: number): ResponseForm {
    return new ResponseForm(id, run, modelOf(this.view), from);
  }
}

/** Reads how a response is retrieved from the parameters of the URL. @throws {QueryError} `invalid_query` */
export function retrievalOf({ stream = 'false', starting_after: after }: Record<string, unknown>): Retrieval {
  if (stream !== 'true' && stream !== 'false')
    throw new QueryError('invalid_query', 'The parameter "stream" must be true or false.');
  if (after !== undefined && (typeof after !== 'string' || !/^\d{1,15}$/.test(after)))
    throw new QueryError(
      'invalid_query',
      'The parameter "starting_after" must be the number of an event, from 0.',
    );
  return { isStream: stream === 'true', startingAfter: after === undefined ? undefined : Number(after) };
}
