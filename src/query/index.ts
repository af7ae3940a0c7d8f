/**
 * The hub as the spokes see it. What users of the package see is a part of it: `src/index.ts`.
 */
export { getAgentToken, InjectAgent } from './agent-token.js';
export { doneText, INTERRUPTED, isInterrupted, log, message } from './contract/envelopes.js';
export { type ErrorCode, type ErrorExtras, type FieldError, QueryError } from './contract/errors.js';
export { cutAnswer, cutParts, type LongText, wholeParts, wholeTurn } from './contract/long-texts.js';
export * from './contract/refusals.js';
export type * from './contract/wire.js';
export { EventLog } from './event-log/event-log.js';
export type { FollowedRun, RunStream } from './event-log/run-stream.js';
export { ProblemFilter, problemOf } from './http/problem.filter.js';
export { FilePartDto, QueryDto, TextPartDto } from './http/query.dto.js';
export { MemoryRunStore } from './memory/memory-run-store.js';
export { MEMORY_RETENTION_DEFAULTS, type RetentionOptions } from './memory/retention.js';
export { type BodyLimits, DEFAULT_BODY_LIMITS } from './options/body-limits.js';
export {
  type DisconnectPolicy,
  type CallerRequest,
  type QueryModuleExtras,
  type QueryModuleFactoryOptions,
  type QueryModuleOptions,
  RUN_DEFAULTS,
  type RunOptions,
  STREAM_DEFAULTS,
  type StreamOptions,
} from './options/query.options.js';
export { isInRange, type Range, RANGES, rangeText, withDefaults } from './options/ranges.js';
export { LoopShare } from './platform/loop-share.js';
export { jsonOf } from './platform/write-json.js';
export { AgentHandler } from './ports/agent-handler.js';
export type * from './ports/agent-handler.js';
export { FileStore } from './ports/file-store.js';
export { KEPT_LENGTH, RunStore } from './ports/run-store.js';
export type * from './ports/run-store.js';
export { QueryModule } from './query.module.js';
export { AgentService, type QueryOptions } from './runs/agent.service.js';
export { AnswerText } from './runs/answer-text.js';
export type { Load } from './runs/scheduler.js';
