/**
 * The hub as the spokes and the package see it.
 *
 * Every name here is a decision: hosts depend on it. `test/public-surface.spec.ts` holds the list.
 */
export { AgentService, type QueryOptions } from './runs/agent.service.js';
export { AnswerText } from './runs/answer-text.js';
export { type BodyLimits, DEFAULT_BODY_LIMITS } from './body/limits.js';
export { doneText, INTERRUPTED, log, message } from './contract/envelopes.js';
export { type ErrorCode, type ErrorExtras, type FieldError, QueryError } from './contract/errors.js';
export { EventLog } from './event-log/event-log.js';
export { MemoryRunStore } from './memory/memory-run-store.js';
export { AgentHandler } from './ports/agent-handler.js';
export type * from './ports/agent-handler.js';
export { FileStore } from './ports/file-store.js';
export { KEPT_LENGTH, RunStore } from './ports/run-store.js';
export type * from './ports/run-store.js';
export { FilePartDto, QueryDto, TextPartDto } from './http/query.dto.js';
export { QueryModule } from './query.module.js';
export {
  type DisconnectPolicy,
  type QueryModuleExtras,
  type QueryModuleOptions,
  RETENTION_DEFAULTS,
  type RetentionOptions,
  RUN_DEFAULTS,
  type RunOptions,
  STREAM_DEFAULTS,
  type StreamOptions,
} from './options/query.options.js';
export type { FollowedRun, RunStream } from './event-log/run-stream.js';
export type { Load } from './runs/scheduler.js';
export type * from './contract/wire.js';
