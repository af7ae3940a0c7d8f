/** What the service tells of itself. */
export { HealthController } from './health.controller.js';
