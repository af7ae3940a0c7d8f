import { type DynamicModule, Module } from '@nestjs/common';
import { viewModule } from '../view/view.js';
import type { AiSdkOptions } from './ai-sdk-options.js';
import { ChatController } from './chat.controller.js';
import { chatPaths } from './paths.js';

/**
 * Chats of the AI SDK: `POST {path}/chat`, `GET {path}/chat/{chatId}`, `GET {path}/chat/{chatId}/stream` and
 * `POST {path}/chat/{chatId}/stop`. The path is `ai` by default.
 *
 * @example
 * @Module({ imports: [QueryModule.forRoot({ handler: MyAgent }), AiSdkModule.forRoot()] })
 * class AppModule {}
 */
@Module({})
export class AiSdkModule {
  /** Returns its routes at the paths of the defaults, after a prefix such as `/api`: the `paths` of an OpenAPI document. */
  static readonly paths = chatPaths;

  /** @throws {TypeError} an option is unknown, or there is no such version */
  static forRoot({ path = 'ai', ...options }: AiSdkOptions = {}): DynamicModule {
    const { version = 6 } = options.aiSdk ?? {};
    if (version !== 6 && version !== 7)
      throw new TypeError('AiSdkModule: the option "aiSdk.version" must be 6 or 7.');
    return viewModule(AiSdkModule, ChatController, { path, ...options }, { own: { aiSdk: true } });
  }
}
