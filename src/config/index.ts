export type { ServiceAgent } from './agents.js';
export type { Environment } from './variables.js';
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
export {
  agentsOf,
  ConfigurationError,
  configured,
  otherVariables,
  readEnvironment,
  unusedVariables,
} from './read-environment.js';
