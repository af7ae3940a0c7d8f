export { type ServiceAgent, shownNameOf } from './agents.js';
export type { Environment, Protocol } from './variables.js';
export {
  acpOptions,
  allowedHosts,
  commandOptions,
  connectionLimits,
  corsOrigins,
  credentials,
  hasPlayground,
  isLocalOnly,
  modelOptions,
  protocolsOf,
  proxies,
  queryOptions,
  remoteOptions,
  retentionOptions,
} from './options.js';
export {
  acpVariables,
  agentsOf,
  ConfigurationError,
  configured,
  otherVariables,
  readEnvironment,
  unusedVariables,
} from './read-environment.js';
