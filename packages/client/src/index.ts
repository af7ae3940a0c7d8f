/**
 * The public surface of `nest-agent-query-client`. To add a name is a promise to keep it; to remove or rename one is a major
 * version.
 */
export { AgentQueryClient } from './agent-query-client.js';
export type {
  AskOptions,
  CallOptions,
  PageOptions,
  ResumedSession,
  RunListOptions,
  UsageOptions,
} from './call-options.js';
export { AgentQueryError } from './agent-query-error.js';
export type { ClientErrorCode } from './agent-query-error.js';
export type { Answer, AnswerEnvelope, AnswerResult } from './answer.js';
export type { AgentQueryClientOptions } from './connection.js';
export type { FileContent, FileInput } from './file-source.js';
export type { FollowOptions } from './log-reader.js';
export type { InputPart } from './query-body.js';
export type { ResumeInfo } from './retries.js';
export type * from './wire/index.js';
