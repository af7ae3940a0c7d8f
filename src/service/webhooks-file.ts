import type { Environment } from '../config/index.js';
import { readJsonFile } from './json-file.js';
import { faultsOfEndpoints, type WebhookEndpoint, type WebhookOptions } from '../query/index.js';

/**
 * The webhooks of the service: the endpoints of the file that `WEBHOOKS_FILE` names.
 *
 * @throws {ConfigurationError} the file cannot be read, is no JSON, or has faulty endpoints
 */
export async function readWebhooks(environment: Environment): Promise<WebhookOptions> {
  const { WEBHOOKS_FILE: path, WEBHOOKS_ALLOW_PRIVATE } = environment;
  if (path === '') return {};
  const endpoints = await readJsonFile<WebhookEndpoint[]>(
    'WEBHOOKS_FILE names no file of endpoints.',
    path,
    (value) => faultsOfEndpoints(value).map((fault) => `endpoints${fault}`),
  );
  return { endpoints, allowPrivate: WEBHOOKS_ALLOW_PRIVATE === 'true' };
}
