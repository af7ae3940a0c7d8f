import type { Caller } from '../caller.js';
import type { Exchange } from '../exchange.js';
import { type Finding, ok, unknown, warning } from '../finding.js';
import { jsonOf, whatCame } from '../problem-body.js';

const LIMIT_MS = 15_000;

/** Checks what the service says of itself, where callers can read it: whether it is ready, and what is wrong nevertheless. */
export async function checkHealth(caller: Caller): Promise<Finding> {
  let response: Exchange | undefined;
  for (const path of pathsFor(caller.target.path)) {
    const headers = { accept: 'application/json' };
    response = await caller.exchange({ method: 'GET', path, headers, limitMs: LIMIT_MS });
    const { status, detail } = jsonOf(response) ?? {};
    if (status === 'ready' && typeof detail !== 'string') return ok('health', 'the service is ready');
    if (status === 'ready')
      return warning('health', `the service is ready, but: ${String(detail)}`, 'health');
    if (status === 'not ready') return warning('health', `the service is not ready: ${String(detail)}`);
  }
  return unknown('health', `the way does not show it: ${whatCame(response!)}`);
}

/** The health of a service with several agents is above the path of each, such as `/research/query`. */
function pathsFor(endpoint: string): string[] {
  const folders = endpoint.split('/').slice(1, -1);
  return [...folders, ''].map((_, index) =>
    ['', ...folders.slice(0, folders.length - index), 'health/ready'].join('/'),
  );
}
