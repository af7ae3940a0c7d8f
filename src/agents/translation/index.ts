/** What the agents that ask models have in common. It knows no framework. It is no entry point of the package. */
export { type AnsweredCall, type AnswerFile, type AnswerStep, answerSteps } from './answer-steps.js';
export {
  DEFAULT_INPUTS,
  FileContents,
  type ModelFile,
  type ModelInput,
  plainTextOf,
  type TextOfFile,
} from './file-contents.js';
export { historyFile } from './history-files.js';
export { cutModel, modelFailure } from './model-failure.js';
export { shownResult } from './shown-result.js';
export { estimateTextTokens } from './text-tokens.js';
export { toolFailure } from './tool-failure.js';
