import { createApiKey } from '../../src/access/index.js';

/** The API keys of the two owners that the services of these tests have. */
export const OWN = createApiKey('own');
export const OTHER = createApiKey('other');
