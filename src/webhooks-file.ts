import { readFile } from 'node:fs/promises';
import { ConfigurationError, type Environment } from './config/index.js';
import { faultsOfEndpoints, type WebhookEndpoint, type WebhookOptions } from './query/index.js';

/**
 * The webhooks of the service: the endpoints of the file that `WEBHOOKS_FILE` names. No sentence has a part of its contents, which
 * are secret.
 *
 * @throws {ConfigurationError} the file cannot be read, is no JSON, or has faulty endpoints
 */
export async function readWebhooks(environment: Environment): Promise<WebhookOptions> {
  const { WEBHOOKS_FILE: path, WEBHOOKS_ALLOW_PRIVATE } = environment;
  if (path === '') return {};
  const text = await readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw faulty([`The file ${JSON.stringify(path)} cannot be read (${code}).`]);
  });
  const endpoints = parsed(text);
  const faults = faultsOfEndpoints(endpoints);
  if (faults.length > 0) throw faulty(faults.map((fault) => `endpoints${fault}`));
  return { endpoints: endpoints as WebhookEndpoint[], allowPrivate: WEBHOOKS_ALLOW_PRIVATE === 'true' };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw faulty(['It is not valid JSON.']);
  }
}

function faulty(sentences: string[]): ConfigurationError {
  return new ConfigurationError(['WEBHOOKS_FILE names no file of endpoints.', ...sentences].join('\n'));
}
