/**
 * What adapters of frameworks have in common, for their authors: `nest-agent-query-adapters`. It knows no framework.
 *
 * WARNING: other packages depend on every name below.
 */
export { type AdapterOptions, adapterSettings, type AdapterSettings } from './adapter-options.js';
export { type AnsweredCall, type AnswerFile, type AnswerStep, answerSteps } from './answer-steps.js';
export {
  type Conversation,
  type ConversationOptions,
  type ConversationStep,
  type ConversationTurn,
  readConversation,
} from './conversation.js';
export { cutModel, modelFailure } from './model-failure.js';
export { type ModelInput, type ModelPart, plainTextOf } from './model-parts.js';
export { callId, fileName, threadOf } from './names.js';
export { shownResult } from './shown-result.js';
export { estimateTextTokens } from './text-tokens.js';
export { toolFailure } from './tool-failure.js';
