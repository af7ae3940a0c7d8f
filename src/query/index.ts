/** The hub as the spokes see it. What users of the package see is a part of it: `src/index.ts`. */
export * from './agent-token.js';
export * from './ports/turn-rules.js';
export { SHAPES } from './contract/envelope-shapes.js';
export { envelopeText } from './contract/envelope-text.js';
export * from './contract/envelopes.js';
export { HandedOver, QueryError, STATUS_OF_CODE } from './contract/errors.js';
export { pageFrom, pageOf } from './contract/list-page.js';
export { hasMetadata, type Metadata } from './contract/metadata.js';
export { bareType, isGenericType, isTextType } from './contract/media-types.js';
export * from './contract/refusals.js';
export * from './contract/trace-context.js';
export * from './contract/turn-texts.js';
export * from './contract/unknown-members.js';
export type * from 'nest-agent-query-client';
export { DataUrl } from './body/data-url.js';
export { type BodyPlace, placesOf, type StringKind } from './body/places.js';
export { EventLog } from './event-log/event-log.js';
export { joinedSlice } from './event-log/log-slices.js';
export { type LogText, LogTexts, type ReadLog } from './event-log/log-texts.js';
export { type FollowedRun, RunStream } from './event-log/run-stream.js';
export { emittedFile } from './files/answer-files.js';
export { BodyContent, filePartOf, HEAD_BYTES, typeOfHead } from './files/content.js';
export { linkFile } from './files/link-file.js';
export * from './files/process-directories.js';
export { CORS_OPTIONS } from './http/cors.js';
export { decorated } from './http/decorated.js';
export type { ReceivedBody } from './http/bodies.js';
export { Endpoint, Endpoints, type MadeQuery } from './http/endpoint.js';
export { type Cursor, cursorOf, idempotencyKeyOf, isQueryOf, SubmitsQueries } from './http/headers.js';
export * from './http/problem.filter.js';
export { FilePartDto, QueryDto, TextPartDto } from './http/query.dto.js';
export { MemoryRunStore } from './memory/memory-run-store.js';
export { MEMORY_RETENTION_DEFAULTS, type RetentionOptions } from './memory/retention.js';
export * from './options/query.options.js';
export { faultsOfEndpoints, type WebhookEndpoint, type WebhookOptions } from './options/webhook-options.js';
export { Settings } from './options/settings.js';
export * from './options/table.js';
export { TypedKwargs } from './options/typed-kwargs.js';
export { CODE_FOLDER } from './platform/code-folder.cjs';
export { settlesWithin } from './platform/deadline.js';
export { loggerOf } from './platform/module-logger.js';
export * from './platform/jitter.js';
export * from './platform/text-for-log.js';
export {
  hasLeft,
  header,
  headerValues,
  pathAsSent,
  rawRequest,
  rawResponse,
  takeResponse,
} from './platform/host.js';
export type * from './platform/host.js';
export { Clock, type TimedOption, type Timer } from './platform/clock.js';
export { EventLoopShare } from './platform/event-loop-share.js';
export { heldLength, jsonOf, JsonPieces, type Piece, piecesOf } from './platform/write-json.js';
export * from './ports/admission-rules.js';
export * from './ports/agent-handler.js';
export { pageOfEnded } from './ports/ended-runs.js';
export { Dispatcher, LocalSignals, Signals } from './ports/other-processes.js';
export type * from './ports/other-processes.js';
export * from './ports/delivery-rules.js';
export { DeliveryStore } from './ports/delivery-store.js';
export type * from './ports/delivery-store.js';
export { FileStore, type ByteRange, type ContentFile } from './ports/file-store.js';
export type * from './ports/run-listener.js';
export * from './ports/input-rules.js';
export { InputStore } from './ports/input-store.js';
export type * from './ports/input-store.js';
export * from './ports/run-store.js';
export * from './ports/upload-store.js';
export * from './ports/usage-rules.js';
export { UsageStore } from './ports/usage-store.js';
export type * from './ports/usage-store.js';
export * from './ports/run-tracer.js';
export { QueryModule } from './query.module.js';
export * from './runs/agent.service.js';
export type { Deliveries } from './runs/deliveries.js';
export type { EarlierText } from './runs/earlier-texts.js';
export type { Inputs } from './runs/inputs.js';
export type { SentFiles } from './runs/sent-files.js';
// The client has other options of the same name.
export type { RunListOptions } from './runs/agent.service.js';
export type { EndedRunList, EndedRunListOptions } from './runs/ended-run-list.js';
export { KeptAnswer } from './contract/kept-answer.js';
export { checkpointText } from './runs/one/query-context.js';
export type { RunRequest } from './runs/run-handler.js';
export { holdAnswer } from './sse/answer-memory.js';
export { type Frames, framesOfText } from './sse/frames.js';
export { type Interruption, StreamForm } from './sse/stream-form.js';
export { EventStream } from './sse/event-stream.js';
export { envelopesOf } from './sse/responses.js';
export { StreamsEnvelopes } from './sse/streams-envelopes.js';
export { joinedPieces } from './sse/write-pieces.js';
