import { isObject } from '../../view/json.js';

type Json = Record<string, unknown>;

/** The types of security schemes in 0.3, by their names in 1.0, and the members that have other names. */
const SCHEMES: Record<string, { type: string; names?: Record<string, string> }> = {
  httpAuthSecurityScheme: { type: 'http' },
  apiKeySecurityScheme: { type: 'apiKey', names: { location: 'in' } },
  oauth2SecurityScheme: { type: 'oauth2' },
  openIdConnectSecurityScheme: { type: 'openIdConnect' },
  mtlsSecurityScheme: { type: 'mutualTLS' },
};

/**
 * The members that a card has for clients of A2A 0.3 besides those of 1.0.
 *
 * @param card of 1.0
 * @param url of the view
 */
export function cardMembers(card: Json, url: string): Json {
  const { securityRequirements } = card;
  return {
    protocolVersion: '0.3.0',
    url,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url, transport: 'JSONRPC' }],
    supportsAuthenticatedExtendedCard: false,
    security: (securityRequirements as Requirement[] | undefined)?.map(requirementOf),
  };
}

type Requirement = { schemes: Record<string, { list?: string[] } | null> };

function requirementOf({ schemes }: Requirement): Record<string, string[]> {
  return Object.fromEntries(Object.entries(schemes).map(([name, scopes]) => [name, scopes?.list ?? []]));
}

/** Security schemes with the members of both versions: readers of each ignore those of the other. */
export function schemesOf(schemes: Record<string, object>): Record<string, object> {
  return Object.fromEntries(Object.entries(schemes).map(([name, scheme]) => [name, schemeOf(scheme)]));
}

function schemeOf(scheme: object): object {
  const [name, value] = Object.entries(scheme).find(([key]) => Object.hasOwn(SCHEMES, key)) ?? [];
  if (name === undefined || !isObject(value)) return scheme;
  const { type, names = {} } = SCHEMES[name]!;
  const members = Object.entries(value).map(([key, each]) => [names[key] ?? key, each] as const);
  return { ...scheme, type, ...Object.fromEntries(members) };
}
