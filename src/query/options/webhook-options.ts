import { hash } from 'node:crypto';
import type { WebhookEvent } from 'nest-agent-query-client';
import type { EndpointRef } from '../ports/delivery-store.js';
import { shown } from './table.js';
import { unknownMembers } from '../contract/unknown-members.js';

/** Where webhooks are sent. */
export interface WebhookEndpoint {
  /** Names the endpoint in lists: 1 to 64 letters, digits, `_`, `-` or `.`. */
  name: string;
  /** `https:` or `http:`, without a user. */
  url: string;
  /**
   * `whsec_` and the base64 of 24 to 64 bytes (Standard Webhooks 1.0). Several while secrets are changed: each signs, and the
   * receiver accepts any of them.
   */
  secret: string | readonly string[];
  /** Which events it gets; at least one. */
  events: readonly WebhookEvent[];
}

/** The webhooks of a module. */
export interface WebhookOptions {
  /** Default: none. */
  endpoints?: readonly WebhookEndpoint[];
  /** Whether webhooks may be sent to addresses that are not public, such as 10.0.0.1 and localhost. Default false. */
  allowPrivate?: boolean;
}

/** A `WebhookEndpoint` as the module uses it. */
export interface CheckedWebhookEndpoint extends EndpointRef {
  readonly name: string;
  readonly url: URL;
  readonly secrets: readonly Buffer[];
  readonly events: readonly WebhookEvent[];
}

const EVENTS: unknown[] = [
  'run.completed',
  'run.failed',
  'run.cancelled',
  'run.input_required',
] satisfies WebhookEvent[];
const NAME = /^[\w.-]{1,64}$/;
const SECRET = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;
const SECRET_BYTES = { least: 24, most: 64 };

/** What each member of an endpoint must be. No sentence has a secret or a URL, which may contain one. */
const RULES: Record<keyof WebhookEndpoint, [must: string, isValid: (value: unknown) => boolean]> = {
  name: [
    '1 to 64 letters, digits, "_", "-" or "."',
    (value) => typeof value === 'string' && NAME.test(value),
  ],
  url: ['a URL that begins with https: or http:, without a user', isAddress],
  secret: [
    `"whsec_" and the base64 of ${SECRET_BYTES.least} to ${SECRET_BYTES.most} bytes, or an array of such secrets`,
    (value) => listOf(value).length > 0 && listOf(value).every(isSecret),
  ],
  events: [
    `an array of ${EVENTS.join(', ')}`,
    (value) => Array.isArray(value) && value.length > 0 && value.every((each) => EVENTS.includes(each)),
  ],
};

const MEMBERS: Record<keyof WebhookOptions, true> = { endpoints: true, allowPrivate: true };

/** The checked webhooks of a module. */
export class Webhooks {
  readonly endpoints: readonly CheckedWebhookEndpoint[];
  readonly allowPrivate: boolean;

  /**
   * @param module the name of the module; undefined for the module without a name
   * @param faults gets a sentence for each fault of the options
   */
  constructor(options: WebhookOptions, module: string | undefined, faults: string[]) {
    const { endpoints = [], allowPrivate = false } = options;
    faults.push(...unknownMembers(options, MEMBERS, 'webhooks'));
    const found = faultsOfEndpoints(endpoints).map((fault) => `webhooks.endpoints${fault}`);
    if (typeof allowPrivate !== 'boolean')
      found.push(`webhooks.allowPrivate is ${shown(allowPrivate)}; it must be true or false.`);
    faults.push(...found);
    this.allowPrivate = allowPrivate;
    this.endpoints = found.length > 0 ? [] : endpoints.map((endpoint) => endpointOf(endpoint, module));
  }

  /** The keys of the endpoints that get an event. */
  keysFor(event: WebhookEvent): string[] {
    return this.endpoints.filter(({ events }) => events.includes(event)).map(({ key }) => key);
  }
}

/**
 * What is wrong with endpoints, as rests of sentences about the array: `[0].name must be …`. Empty if nothing is.
 *
 * @example
 * const faults = faultsOfEndpoints(JSON.parse(await readFile('webhooks.json', 'utf8')));
 */
export function faultsOfEndpoints(endpoints: unknown): string[] {
  if (!Array.isArray(endpoints)) return [' must be an array of endpoints.'];
  const names = new Set<unknown>();
  return endpoints.flatMap((endpoint: unknown, index) => {
    if (typeof endpoint !== 'object' || endpoint === null) return [`[${index}] must be an object.`];
    const { name } = endpoint as Partial<WebhookEndpoint>;
    const isTaken = names.has(name);
    names.add(name);
    const values = Object.entries(RULES).map(([member, [must, isValid]]) =>
      isValid(endpoint[member as never]) ? '' : `[${index}].${member} must be ${must}.`,
    );
    const unknown = Object.keys(endpoint)
      .filter((member) => !Object.hasOwn(RULES, member))
      .map((member) => `[${index}].${member} is not a member of an endpoint.`);
    return [...values, ...unknown, isTaken ? `[${index}].name is that of another endpoint.` : ''].filter(
      Boolean,
    );
  });
}

function endpointOf(
  { name, url, secret, events }: WebhookEndpoint,
  module: string | undefined,
): CheckedWebhookEndpoint {
  const key = module === undefined ? name : `${module}/${name}`;
  const secrets = listOf(secret).map((each) => bytesOf(each)!);
  return { key, address: `${key} ${hash('sha256', url)}`, name, url: new URL(url), secrets, events };
}

function isAddress(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return /^https?:$/.test(protocol) && username + password === '';
}

function isSecret(value: unknown): boolean {
  const length = bytesOf(value)?.length ?? 0;
  return length >= SECRET_BYTES.least && length <= SECRET_BYTES.most;
}

function bytesOf(secret: unknown): Buffer | undefined {
  const [, base64] = (typeof secret === 'string' && SECRET.exec(secret)) || [];
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64');
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}
