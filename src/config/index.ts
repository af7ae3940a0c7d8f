export { Environment } from './environment.js';
export {
  connectionLimits,
  corsOrigins,
  credentials,
  proxies,
  queryOptions,
  retentionOptions,
} from './options.js';
export { ConfigurationError, readEnvironment } from './read-environment.js';
