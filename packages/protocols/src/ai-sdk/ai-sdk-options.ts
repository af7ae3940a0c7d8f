import type { ViewOptions } from '../view/view.js';

/** Where chats of the AI SDK are, and what they are sent. */
export interface AiSdkOptions extends ViewOptions {
  /**
   * The `version` of the package `ai` that all clients have. With 7, clients get chunks that 6 refuses: `reset-step` and
   * `tool-approval-response`. Default 6: the chunks that both understand.
   */
  aiSdk?: { version: 6 | 7 };
}
