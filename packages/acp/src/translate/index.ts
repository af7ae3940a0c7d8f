/** Between ACP and envelopes: no process, no run. */
export { type KnownCall } from './known-call.js';
export { outcomeOf, type PermissionOutcome, questionOf } from './permissions.js';
export { type ContentBlock, type FilesAs, promptOf, type PromptSettings } from './prompt.js';
export { type Remarks, Translation, type TranslationSettings } from './translation.js';
