import { Injectable } from '@nestjs/common';
import {
  EventStream,
  type HostRequest,
  type HostResponse,
  idempotencyKeyOf,
  type ReceivedBody,
} from 'nest-agent-query/protocol';
import { View } from '../../view/view.js';
import { readLog } from '../../view/read-log.js';
import { answerFailed } from '../answer/run-error.js';
import { answerRun } from '../asking/answering.js';
import { modelOf } from '../model.js';
import { sentAlong } from '../request/conversation.js';
import { type Begun, Repeats } from '../repeats/repeats.js';
import { madeQuery } from '../request/made-query.js';
import { ChatForm } from './chat-form.js';
import { CHAT_PLACES, chatQuery, type ChatRequest, chatRequest } from './chat-request.js';

/** `{path}/chat/completions`. A client sends the whole conversation with each request. */
@Injectable()
export class Chats {
  constructor(
    private readonly view: View,
    private readonly repeats: Repeats,
  ) {}

  async create(request: HostRequest, response: HostResponse): Promise<unknown> {
    return this.view.endpoint.withBody(request, CHAT_PLACES, async (body, owner) => {
      const asked = chatRequest(body.value);
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

  async #answer(owner: string, { answers }: ChatRequest, response: HostResponse): Promise<Begun> {
    const { endpoint } = this.view;
    const { runId, leg } = await answerRun(endpoint, owner, answers, { detached: false, response });
    const run = await endpoint.agent.find(owner, runId);
    return { run, leg, stream: endpoint.agent.follow(owner, runId, 0) };
  }

  async #submit(owner: string, asked: ChatRequest, body: ReceivedBody, request: HostRequest): Promise<Begun> {
    const { kwargs, ...conversation } = chatQuery(asked, modelOf(this.view));
    const { parts, earlier } = sentAlong(conversation);
    const { query, pointerOf } = madeQuery(asked.body, parts, kwargs);
    const options = {
      owner,
      // The turns of a session are its history.
      earlier: isNamed(kwargs['session_id']) ? undefined : earlier,
      request,
      idempotencyKey: idempotencyKeyOf(request),
      path: this.view.queryPath(request, 'chat/completions'),
    };
    const stream = await this.view.endpoint.submit(body, query, options, pointerOf);
    return { run: (await stream.admitted).run!, stream, leg: 1 };
  }

  async #reply(asked: ChatRequest, { run, stream, leg }: Begun, response: HostResponse): Promise<unknown> {
    const form = new ChatForm(run, modelOf(this.view), { ...asked, leg });
    if (asked.isStream) return new EventStream(stream, form);
    await readLog(stream, form, { response });
    const { failure: error } = form;
    if (!error) return form.completion;
    answerFailed(response);
    return { error };
  }
}

const isNamed = (session: unknown) => typeof session === 'string' && session !== '';
