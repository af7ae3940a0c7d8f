/**
 * What adapters of frameworks have in common, for their authors: `nest-agent-query-adapters`. It depends on no framework.
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
export { DistinctCalls, distinctCalls } from './distinct-calls.js';
export { callerResult, type Decision, decisionOf, notExecuted } from './given-answers.js';
export { keepSteps } from './keep-steps.js';
export { cutModel, modelFailure } from './model-failure.js';
export { ModelGate } from './model-gate.js';
export { type ModelInput, type ModelPart, plainTextOf } from './model-parts.js';
export { type ModelCounts, modelUsage } from './model-usage.js';
export { callId, fileName, threadOf } from './names.js';
export { type PromptMessage, promptMessages, type PromptPart, stepMessages } from './prompt-messages.js';
export { endProcesses } from './processes/end-processes.js';
export { environmentOf, MARKER, stateDirectory } from './processes/environment.js';
export {
  type FolderSettings,
  Folders,
  makeFolder,
  type Place,
  type SessionRecord,
} from './processes/folders.js';
export { leftoversEnded, ProcessRecord } from './processes/leftovers.js';
export { questionKey } from './question-key.js';
export { shownPath, withoutFolder } from './shown-paths.js';
export { shownResult } from './shown-result.js';
export { openTurns } from './shown-turns.js';
export { StepGate } from './step-gate.js';
export { estimateTextTokens } from './text-tokens.js';
export { toolFailure } from './tool-failure.js';
