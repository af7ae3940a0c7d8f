/** The agent that asks another service, as hosts import it from `nest-agent-query/agents/remote`. */
export { remoteHandler } from './remote-handler.js';
export type { RemoteOptions } from './remote-options.js';
