export { Environment } from './environment.js';
export {
  connectionLimits,
  corsOrigins,
  credentials,
  proxies,
  queryOptions,
  remoteOptions,
  retentionOptions,
} from './options.js';
export { ConfigurationError, readEnvironment } from './read-environment.js';
