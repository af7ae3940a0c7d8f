import { All, Delete, Get, HttpCode, Param, Post, Query, Req, Res, UseFilters } from '@nestjs/common';
import { type HostRequest, type HostResponse, StreamsEnvelopes } from 'nest-agent-query/protocol';
import { View } from '../view/view.js';
import { Chats } from './chat/chats.js';
import { Conversations } from './conversations/conversations.js';
import { itemPageOf } from './conversations/item-page.js';
import { modelJson, modelOf } from './model.js';
import { OpenAiFilter } from './openai.filter.js';
import { notFound } from './refusals.js';
import { responseIdOf } from './responses/response-id.js';
import { Responses, retrievalOf } from './responses/responses.js';

/** Express and Fastify have no wildcard in common. */
const OTHER_PATHS = ['', ':a', ':a/:b', ':a/:b/:c', ':a/:b/:c/:d', ':a/:b/:c/:d/:e', ':a/:b/:c/:d/:e/:f'];

/** What a refusal says to programs that ask for embeddings, files and the like, or have another base URL. */
const PATHS = 'an agent has responses, conversations, chat/completions and models';

/** The paths of OpenAI's API that an agent has. */
@UseFilters(OpenAiFilter)
@StreamsEnvelopes((routes: OpenAiController) => routes.view.endpoint.responses)
export class OpenAiController {
  constructor(
    readonly view: View,
    private readonly responses: Responses,
    private readonly conversations: Conversations,
    private readonly chats: Chats,
  ) {}

  @Post('responses')
  @HttpCode(200)
  createResponse(@Req() request: HostRequest, @Res() response: HostResponse): Promise<unknown> {
    return this.responses.create(request, response);
  }

  @Get('responses/:id')
  async response(
    @Req() request: HostRequest,
    @Res() response: HostResponse,
    @Param('id') id: string,
    @Query() parameters: Record<string, unknown>,
  ): Promise<unknown> {
    return this.responses.retrieve(request, response, responseIdOf(id), retrievalOf(parameters));
  }

  @Get('responses/:id/input_items')
  async inputItems(
    @Req() request: HostRequest,
    @Param('id') id: string,
    @Query() parameters: Record<string, unknown>,
  ): Promise<unknown> {
    return this.responses.inputItems(request, responseIdOf(id), itemPageOf(parameters));
  }

  @Post('responses/:id/cancel')
  @HttpCode(200)
  async cancelResponse(
    @Req() request: HostRequest,
    @Res() response: HostResponse,
    @Param('id') id: string,
  ): Promise<unknown> {
    return this.responses.cancel(request, response, responseIdOf(id));
  }

  @Delete('responses/:id')
  async deleteResponse(@Req() request: HostRequest, @Param('id') id: string): Promise<unknown> {
    return this.responses.erase(request, responseIdOf(id));
  }

  @Post('conversations')
  @HttpCode(200)
  createConversation(@Req() request: HostRequest): Promise<unknown> {
    return this.conversations.create(request);
  }

  @Get('conversations/:id')
  conversation(@Req() request: HostRequest, @Param('id') id: string): Promise<unknown> {
    return this.conversations.retrieve(request, id);
  }

  @Delete('conversations/:id')
  deleteConversation(@Req() request: HostRequest, @Param('id') id: string): Promise<unknown> {
    return this.conversations.erase(request, id);
  }

  @Get('conversations/:id/items')
  async conversationItems(
    @Req() request: HostRequest,
    @Param('id') id: string,
    @Query() parameters: Record<string, unknown>,
  ): Promise<unknown> {
    return this.conversations.items(request, id, itemPageOf(parameters));
  }

  @Post('chat/completions')
  @HttpCode(200)
  createCompletion(@Req() request: HostRequest, @Res() response: HostResponse): Promise<unknown> {
    return this.chats.create(request, response);
  }

  @Get('models')
  models(): unknown {
    return { object: 'list', data: [modelJson(modelOf(this.view))] };
  }

  @Get('models/:id')
  model(@Param('id') id: string): unknown {
    const own = modelOf(this.view);
    if (id !== own) throw notFound('model', `the only one is "${own}"`);
    return modelJson(id);
  }

  @All(OTHER_PATHS)
  other(): never {
    throw notFound('path and method', PATHS);
  }
}
