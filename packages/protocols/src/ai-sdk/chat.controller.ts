import { Get, HttpCode, Inject, Injectable, Param, Post, Query, Req, Res, UseFilters } from '@nestjs/common';
import { type AgentService, QueryError } from 'nest-agent-query';
import {
  EventStream,
  header,
  type HostRequest,
  type HostResponse,
  idempotencyKeyOf,
  type JsonPieces,
  pathAsSent,
  type ProblemForm,
  rawResponse,
  type ReceivedBody,
  StreamsEnvelopes,
} from 'nest-agent-query/protocol';
import { PastTurns } from '../view/past-turns.js';
import { View, ViewFilter } from '../view/view.js';
import type { AiSdkOptions } from './ai-sdk-options.js';
import { messagesOf, piecesOfMessages } from './chat-history.js';
import { answersIn, relocatedAnswers } from './answers.js';
import {
  type ChatRequest,
  chatRequestOf,
  isOfAgent,
  keyOf,
  PLACES,
  queryOf,
  stoppedRunOf,
} from './chat-request.js';
import { newestEnded, newestUnfinished, runAnswering } from './chat-turns.js';
import { MessageForm, type Shown } from './message-form.js';
import { runIdOf } from './message-id.js';
import { placeOf } from './place.js';
import { survey } from './survey.js';

/** Clients show the body of a refusal as the message of their error. It is the problem of the endpoint. */
@Injectable()
export class ChatFilter extends ViewFilter {
  protected readonly form: ProblemForm = (problem) => {
    return { status: problem.status, contentType: 'application/problem+json', body: problem };
  };
}

/** Whose request it is, and the run that it is about. */
interface Wanted {
  owner: string;
  request: HostRequest;
}

/** The routes of chats. A chat is a session; a message of the agent is a run. */
@UseFilters(ChatFilter)
@StreamsEnvelopes((routes: ChatController) => routes.view.endpoint.responses)
export class ChatController {
  constructor(@Inject(View) readonly view: View<AiSdkOptions>) {}

  /** Submits the last message of a user, or answers what the run of a message asks. */
  @Post('chat')
  @HttpCode(200)
  async submit(@Req() request: HostRequest): Promise<EventStream> {
    return this.view.endpoint.withBody(request, PLACES, (body, owner) => {
      const chat = chatRequestOf(body.value);
      return isOfAgent(chat.message)
        ? this.#answer(chat, { owner, request })
        : this.#query(chat, body, { owner, request });
    });
  }

  /** Returns the messages of a chat, for a page that was loaded again. What an unfinished run goes on with, `stream` has. */
  @Get('chat/:id')
  async messages(
    @Req() request: HostRequest,
    @Res() response: HostResponse,
    @Param('id') id: string,
  ): Promise<{ messages: JsonPieces }> {
    const owner = await this.view.endpoint.owner(request);
    // The parameter has been decoded.
    const [sent] = /[^/]+(?=\/?$)/.exec(pathAsSent(request)) ?? [];
    const path = this.view.queryPath(request, `chat/${sent}`) ?? '';
    const messages = messagesOf(new PastTurns(this.#agent, owner, id), path);
    return { messages: await piecesOfMessages(messages, rawResponse(response)) };
  }

  /**
   * Streams the newest run of a chat that has not ended, from its beginning; or a run from one of its chunks on. `after` is the newest
   * message that a page has: if it is of the user, and its run has ended meanwhile, this run.
   */
  @Get('chat/:id/stream')
  async stream(
    @Req() request: HostRequest,
    @Res() response: HostResponse,
    @Param('id') id: string,
    @Query('startIndex') startIndex?: string,
    @Query('after') after?: unknown,
  ): Promise<EventStream | undefined> {
    const owner = await this.view.endpoint.owner(request);
    const index = indexOf(startIndex);
    const run = index === undefined ? undefined : await this.#runOf(owner, id);
    const shownLast = typeof after === 'string' ? after : undefined;
    const unfinished = run ?? (await newestUnfinished(this.#agent, owner, id));
    const found = unfinished ?? (await runAnswering(this.#agent, owner, id, shownLast));
    if (!found) return void response.status(204);
    const shown = { runId: found.id, since: run?.since ?? 0, version: this.#version };
    const { count, ...known } = await survey(this.#agent, owner, shown);
    const from = index !== undefined && index < 0 ? Math.max(0, count + index) : (index ?? 0);
    if (from > 0 && known.voids.length > 0)
      throw new QueryError(
        'cursor_expired',
        'The run was restarted, and a part of its message is void. Read it from its beginning.',
      );
    const tail = index !== undefined && index < 0 ? count - 1 : undefined;
    return this.#stream({ owner, request }, { ...shown, ...known }, from, tail);
  }

  /** Cancels the newest run of a chat that has not ended, unless the client names another one. */
  @Post('chat/:id/stop')
  @HttpCode(204)
  async stop(@Req() request: HostRequest, @Param('id') id: string): Promise<void> {
    const { endpoint } = this.view;
    const stop = async (owner: string, named?: string) => {
      const run = await newestUnfinished(this.#agent, owner, id);
      if (run && (named === undefined || named === run.id)) await this.#agent.cancel(owner, run.id);
    };
    if (header(request, 'content-type') === undefined) return stop(await endpoint.owner(request));
    await endpoint.withBody(request, {}, ({ value }, owner) => stop(owner, stoppedRunOf(value)));
  }

  async #query(chat: ChatRequest, body: ReceivedBody, { owner, request }: Wanted): Promise<EventStream> {
    const { endpoint } = this.view;
    const { query, pointerOf } = queryOf(chat);
    const submitted = {
      path: this.view.queryPath(request, 'chat'),
      owner,
      request,
      ...(await placeOf(this.#agent, owner, chat)),
      idempotencyKey: idempotencyKeyOf(request) ?? (await this.#keyOf(chat, owner)),
    };
    const stream = await endpoint.submit(body, query, submitted, pointerOf);
    const { id: runId, status, events } = (await stream.admitted).run!;
    // A request that was sent again may find a run that has asked already.
    const answeredUpTo = status === 'input_required' ? 0 : events;
    const shown = { runId, version: this.#version, since: 0, answeredUpTo, voids: [] };
    return new EventStream(stream, new MessageForm(shown));
  }

  async #answer(chat: ChatRequest, wanted: Wanted): Promise<EventStream> {
    const { owner } = wanted;
    const { chatId, message } = chat;
    const { inputs } = this.#agent;
    const asking = async () => chatId && (await this.#agent.session(owner, chatId, 0, 1)).asking;
    const runId = runIdOf(message.id) ?? (await asking());
    const found = answersIn(chat, runId ? (await inputs.of(owner, runId)).inputs : []);
    const shown = { runId: runId!, version: this.#version, since: 0 };
    const { voids } = await survey(this.#agent, owner, shown);
    const answers = found.map(({ answer }) => answer);
    const { before } = await inputs.answer(owner, runId!, answers, { detached: false }).catch((error) => {
      throw relocatedAnswers(error, found);
    });
    return this.#stream(wanted, { ...shown, since: before!, answeredUpTo: before!, voids });
  }

  #stream({ owner, request }: Wanted, shown: Shown, from?: number, tail?: number): EventStream {
    const envelopes = this.#agent.follow(owner, shown.runId, 0, { request });
    return new EventStream(envelopes, new MessageForm(shown, from, tail));
  }

  /**
   * The same request again attaches to its run. One that edits or regenerates may be the same as an earlier one: it attaches to that
   * until its run has ended.
   */
  async #keyOf({ identity, replaces, chatId }: ChatRequest, owner: string): Promise<string | undefined> {
    if (!identity || (replaces && chatId === undefined)) return undefined;
    return keyOf(identity, replaces ? (await newestEnded(this.#agent, owner, chatId!))?.id : undefined);
  }

  /** The run that `x-workflow-run-id` names, and the envelope before the leg that the response had shown. */
  async #runOf(owner: string, id: string): Promise<{ id: string; since: number } | undefined> {
    const [, runId = '', since = '0'] = /^(.*?)(?:\.(\d{1,15}))?$/.exec(id) ?? [];
    try {
      return { id: (await this.#agent.find(owner, runId)).id, since: Number(since) };
    } catch (error) {
      if (error instanceof QueryError && error.code === 'not_found') return undefined;
      throw error;
    }
  }

  get #agent(): AgentService {
    return this.view.endpoint.agent;
  }

  get #version(): Shown['version'] {
    return this.view.options.aiSdk?.version ?? 6;
  }
}

/** @throws {QueryError} `invalid_query` */
function indexOf(startIndex: string | undefined): number | undefined {
  if (startIndex === undefined) return undefined;
  if (/^-?\d{1,15}$/.test(startIndex)) return Number(startIndex);
  throw new QueryError('invalid_query', 'The parameter "startIndex" must be a whole number.');
}
