/**
 * Access and limits for the endpoint: `nest-agent-query/access`. The packages `jose` and `rate-limiter-flexible` are loaded only
 * where they are configured.
 *
 * WARNING: hosts depend on every name below, as on those of the package root.
 */
export { AccessGuard } from './access.guard.js';
export { AccessModule } from './access.module.js';
export type { AccessModuleOptions } from './access.options.js';
export { CONNECTION_DEFAULTS, type ConnectionLimits, limitConnections } from './connections.js';
export { type ApiKey, apiKeysOf, createApiKey } from './keys/api-key.js';
export { readKeysFile } from './keys/keys-file.js';
export type { JwtOptions } from './jwt/jwt-options.js';
export { ownerOf } from './owners.js';
export { PublicRoute } from './public-route.js';
export { RateLimitGuard } from './rate/rate-limit.guard.js';
export { RateLimitModule } from './rate/rate-limit.module.js';
export type {
  PostgresConnections,
  PostgresRateOptions,
  RateLimitModuleOptions,
} from './rate/rate-limit.options.js';
export { AccessRefusal } from './refusals.js';
export { addSecurityHeaders } from './security-headers.js';
