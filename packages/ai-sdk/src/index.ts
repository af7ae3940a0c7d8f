/** The adapter of the AI SDK, as hosts import it from `nest-agent-query-ai-sdk`. */
export { fromAiSdk } from './ai-sdk-handler.js';
export type {
  AiSdkAdapterOptions,
  AiSdkAgent,
  AiSdkChoice,
  AiSdkOptions,
  AiSdkSource,
} from './ai-sdk-options.js';
