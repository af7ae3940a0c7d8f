/** The hub as the spokes see it. What users of the package see is a part of it: `src/index.ts`. */
export * from './agent-token.js';
export { pageOf } from './memory/pages.js';
export * from './ports/turn-rules.js';
export { SHAPES } from './contract/envelope-shapes.js';
export { envelopeText } from './contract/envelope-text.js';
export * from './contract/envelopes.js';
export { HandedOver, QueryError, STATUS_OF_CODE } from './contract/errors.js';
export { pageFrom } from './contract/list-page.js';
export { bareType, isGenericType, isTextType } from './contract/media-types.js';
export * from './contract/refusals.js';
export * from './contract/trace-context.js';
export * from './contract/turn-texts.js';
export type * from 'nest-agent-query-client';
export { EventLog } from './event-log/event-log.js';
export { type FollowedRun, RunStream } from './event-log/run-stream.js';
export { emittedFile } from './files/answer-files.js';
export { FileContent, HEAD_BYTES, typeOfHead } from './files/content.js';
export { filePartOf } from './files/file-part.js';
export * from './files/process-directories.js';
export { CORS_OPTIONS } from './http/cors.js';
export { isQuery } from './http/headers.js';
export * from './http/problem.filter.js';
export { FilePartDto, QueryDto, TextPartDto } from './http/query.dto.js';
export { MemoryRunStore } from './memory/memory-run-store.js';
export { MEMORY_RETENTION_DEFAULTS, type RetentionOptions } from './memory/retention.js';
export * from './options/query.options.js';
export { isInRange, rangeText, withDefaults } from './options/ranges.js';
export { Settings } from './options/settings.js';
export * from './options/table.js';
export { TypedKwargs } from './options/typed-kwargs.js';
export { CODE_FOLDER } from './platform/code-folder.cjs';
export { settlesWithin } from './platform/deadline.js';
export { loggerOf } from './platform/module-logger.js';
export * from './platform/text-for-log.js';
export {
  header,
  headerValues,
  type HostRequest,
  type HostResponse,
  pathAsSent,
  rawRequest,
  takeResponse,
} from './platform/host.js';
export { Clock, type TimedOption, type Timer } from './platform/clock.js';
export { EventLoopShare } from './platform/event-loop-share.js';
export { jsonOf } from './platform/write-json.js';
export * from './ports/admission-rules.js';
export * from './ports/agent-handler.js';
export {
  Dispatcher,
  type DispatchReceiver,
  LocalSignals,
  type Signal,
  type SignalReceiver,
  Signals,
} from './ports/other-processes.js';
export { FileStore, type ByteRange } from './ports/file-store.js';
export type * from './ports/run-listener.js';
export * from './ports/run-store.js';
export * from './ports/run-tracer.js';
export { QueryModule } from './query.module.js';
export {
  AgentService,
  type DownloadedFile,
  type ListOptions,
  type QueryOptions,
  type RunListOptions,
  type SpoolUse,
  type Totals,
} from './runs/agent.service.js';
export { KeptAnswer } from './runs/kept-answer.js';
export { checkpointText } from './runs/query-context.js';
export type { RunRequest } from './runs/run-handler.js';
export type { Load } from './runs/load.js';
