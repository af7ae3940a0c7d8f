/**
 * `nest-agent-query-protocols/ai-sdk`: chats of the AI SDK (`useChat`) with the runs of an endpoint.
 *
 * WARNING: every name here is public. `test/public-surface.spec.ts` lists them.
 */
export { AiSdkModule } from './ai-sdk.module.js';
export type { AiSdkOptions } from './ai-sdk-options.js';
