/**
 * What reads and sends streams, for programs that ask a service in another way than the client:
 * `nest-agent-query-client/streams`. To add a name is a promise to keep it; to remove or rename one is a major version.
 */
export { AskedRequests, type ResolvedRequest } from './asked-requests.js';
export { connectionLost, isTransient, refusalOf } from './agent-query-error.js';
export { beginningOf } from './beginning-of.js';
export { eventParser, EventReader } from './event-reader.js';
export type { ByteSource, StreamEvent, StreamListener } from './event-reader.js';
export { QueryBody } from './query-body.js';
export { Retries } from './retries.js';
export { usageSum } from './usage-sum.js';
export { upTo } from './log-entries.js';
