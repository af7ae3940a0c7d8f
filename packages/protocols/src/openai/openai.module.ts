import { type DynamicModule, Module } from '@nestjs/common';
import { viewModule, type ViewOptions } from '../view/view.js';
import { Chats } from './chat/chats.js';
import { Conversations } from './conversations/conversations.js';
import { OpenAiController } from './openai.controller.js';
import { openAiPaths } from './paths.js';
import { Repeats } from './repeats/repeats.js';
import { Continued } from './responses/continued.js';
import { Responses } from './responses/responses.js';

/**
 * Shows the runs of a `QueryModule` to clients of OpenAI: Responses, Conversations, Chat Completions and Models.
 *
 * @example
 * imports: [QueryModule.forRoot({ handler: MyHandler }), OpenAiModule.forRoot()];
 */
@Module({ providers: [Chats, Continued, Conversations, Repeats, Responses] })
export class OpenAiModule {
  /** Returns its routes at the paths of the defaults, after a prefix such as `/api`: the `paths` of an OpenAPI document. */
  static readonly paths = openAiPaths;

  /**
   * @param options `path` is by default `v1`
   * @throws {TypeError} an option is unknown
   */
  static forRoot(options: ViewOptions = {}): DynamicModule {
    return viewModule(OpenAiModule, OpenAiController, { path: 'v1', ...options });
  }
}
