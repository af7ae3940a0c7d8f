import { Caller } from './caller.js';
import { checkAccess } from './checks/access.js';
import { checkAgentCard } from './checks/agent-card.js';
import { checkBodies, checkUploads } from './checks/bodies.js';
import { checkHealth } from './checks/health.js';
import { checkHttp2 } from './checks/http2.js';
import { checkLeaving } from './checks/leaving.js';
import { checkReachability } from './checks/reachability.js';
import { checkRequests } from './checks/requests.js';
import { checkSilence } from './checks/silence.js';
import { checkStreaming } from './checks/streaming.js';
import { EXIT } from './exit-codes.js';
import { CHECKS, type CheckName, type Finding } from './finding.js';
import { proxiesOf } from './proxies.js';
import type { Report } from './report.js';
import type { Target } from './target.js';

/** How far the checks go. */
export interface Extent {
  /** How long a stream is silent, in seconds: most proxies have a limit of 60. */
  idle: number;
  /** The largest body that is sent, in bytes. */
  body: number;
}

/**
 * Does all checks. It takes as long as the silence, and some seconds if that is shorter. It never rejects because of the service: a
 * connection that fails is a finding.
 *
 * @example
 * const target = { origin: new URL('https://agent.example.com'), path: '/query', headers: {} };
 * const { exitCode, findings } = await examine(target, { idle: 65, body: 8 * 1024 * 1024 });
 */
export async function examine(target: Target, { idle, body }: Extent): Promise<Report> {
  const caller = new Caller(target);
  const url = `${target.origin.origin}${target.path}`;
  const { finding, exitCode } = await checkReachability(caller);
  const findings = exitCode === undefined ? await rest() : [];
  const all = [finding, ...findings].sort((one, other) => orderOf(one) - orderOf(other));
  const hasProblem = all.some(({ verdict }) => verdict === 'problem');
  return {
    url,
    proxies: proxiesOf(caller.heads),
    findings: all,
    exitCode: exitCode ?? (hasProblem ? EXIT.problem : EXIT.ok),
  };

  async function rest(): Promise<Finding[]> {
    const long = Promise.all([checkSilence(caller, idle), checkLeaving(caller, idle)]);
    const streams = await Promise.all([checkStreaming(caller), checkHttp2(caller)]);
    const others = await Promise.all([
      checkRequests(caller),
      checkAccess(caller),
      checkAgentCard(caller),
      checkHealth(caller),
    ]);
    // Large bodies take the network for themselves, and would delay the events of other checks.
    const uploads = await checkUploads(caller);
    const bodies = await checkBodies(caller, body);
    return [...streams.flat(), ...others.flat(), uploads, bodies, ...(await long).flat()];
  }
}

const ORDER = Object.keys(CHECKS) as CheckName[];

function orderOf({ check }: Finding): number {
  return ORDER.indexOf(check);
}
