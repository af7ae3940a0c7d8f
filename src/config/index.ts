export type { ServiceAgent } from './agents.js';
export { Environment } from './environment.js';
export {
  commandOptions,
  connectionLimits,
  corsOrigins,
  credentials,
  hasPlayground,
  modelOptions,
  proxies,
  queryOptions,
  remoteOptions,
  retentionOptions,
} from './options.js';
export { agentsOf, ConfigurationError, otherVariables, readEnvironment } from './read-environment.js';
