export {
  CONNECTION_DEFAULTS,
  CONNECTION_RANGES,
  type ConnectionLimits,
  limitConnections,
} from './connections.js';
export { addSecurityHeaders } from './security-headers.js';
