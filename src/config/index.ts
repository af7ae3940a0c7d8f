export { Environment } from './environment.js';
export {
  commandOptions,
  connectionLimits,
  corsOrigins,
  credentials,
  modelOptions,
  proxies,
  queryOptions,
  remoteOptions,
  retentionOptions,
} from './options.js';
export { ConfigurationError, otherVariables, readEnvironment } from './read-environment.js';
