/** What operators can observe of the service. */
export { HealthController } from './health.controller.js';
