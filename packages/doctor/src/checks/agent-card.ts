import type { Caller } from '../caller.js';
import { type Finding, ok, unknown, warning } from '../finding.js';
import { jsonOf, whatCame } from '../problem-body.js';

const LIMIT_MS = 15_000;

/** Checks whether the agent card (A2A 1.0 §8.2) names the address that callers have. */
export async function checkAgentCard(caller: Caller): Promise<Finding> {
  const { path, origin } = caller.target;
  // The card is beside the endpoint, such as `/api/query`.
  const base = `${origin.origin}${path.slice(0, path.lastIndexOf('/') + 1)}`;
  const response = await caller.exchange({
    method: 'GET',
    path: new URL('.well-known/agent-card.json', base).pathname,
    headers: { accept: 'application/json' },
    limitMs: LIMIT_MS,
  });
  if (response.head?.status === 404)
    return unknown('agent-card', 'there is none: the service does not speak A2A');
  const addresses = addressesOf(jsonOf(response));
  if (response.head?.status !== 200 || addresses.length === 0)
    return unknown('agent-card', `there is none: ${whatCame(response)}`);
  const other = addresses.find((address) => !isBelow(base, address));
  if (other === undefined) return ok('agent-card', `names ${addresses[0]!}`);
  const isLostPrefix = URL.canParse(other) && new URL(other).origin === origin.origin;
  const fix = isLostPrefix ? 'agent-card-path' : 'agent-card';
  return warning('agent-card', `names ${other}, but callers need an address below ${base}`, fix);
}

function isBelow(base: string, address: string): boolean {
  return URL.canParse(address) && new URL(address).href.startsWith(base);
}

/** Where the card tells callers to go: of A2A 1.0, and of versions before. */
function addressesOf(card: Record<string, unknown> | undefined): string[] {
  const interfaces = card?.['supportedInterfaces'];
  const all = Array.isArray(interfaces) ? (interfaces as unknown[]) : [card];
  return all
    .map((each) => (each as { url?: unknown } | null | undefined)?.url)
    .filter((url) => typeof url === 'string');
}
