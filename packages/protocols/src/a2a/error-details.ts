import type { RefusalForm } from '../view/view.js';
import { paramOf } from '../view/json.js';
import { errorOf } from './refusals.js';

type Problem = Parameters<RefusalForm>[0];

/** Whose reasons `google.rpc.ErrorInfo` names: A2A's own, or those that only this service has. */
const DOMAINS = { a2a: 'a2a-protocol.org', own: 'nest-agent-query' };

/**
 * What an error says besides its sentence (A2A 1.0 §3.3.2): its reason, and what is wrong with which members.
 *
 * @param root where a body of JSON-RPC has the request of A2A: pointers begin there. Default: at the body
 */
export function detailsOf({ code, status, errors = [] }: Problem, root = ''): object[] {
  const { reason } = errorOf(code, status);
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: reason ?? code.toUpperCase(),
    domain: reason === undefined ? DOMAINS.own : DOMAINS.a2a,
  };
  const fieldViolations = errors.map(({ pointer, detail }) => ({
    field: paramOf(pointer.startsWith(`${root}/`) ? pointer.slice(root.length) : pointer),
    description: detail,
  }));
  if (fieldViolations.length === 0) return [info];
  return [info, { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }];
}
