import type { Caller } from '../caller.js';
import { connectionFailure } from '../connection-failure.js';
import { EXIT } from '../exit-codes.js';
import { type Exchange, textOf } from '../exchange.js';
import { type Finding, ok, problem, seconds } from '../finding.js';
import { isInvalidCredential, jsonOf, serviceProblem, whatCame } from '../problem-body.js';
import { mislabelled, timedStream, type TimedStream } from '../timed-stream.js';

/** What the first requests have found. Without `exitCode`, the other checks make sense. */
export interface Reached {
  finding: Finding;
  exitCode?: number;
}

const LIMIT_MS = 15_000;

/** Checks whether the service answers at the URL, lets the caller in, and has the agent that the other checks ask. */
export async function checkReachability(caller: Caller): Promise<Reached> {
  const { path, origin } = caller.target;
  const list = await caller.exchange({
    method: 'GET',
    path: `${path}?limit=1`,
    headers: { accept: 'application/json' },
    limitMs: LIMIT_MS,
  });
  const failed = unreached(list, caller) ?? notTheService(list, `${origin.origin}${path}`);
  if (failed) return failed;
  const stream = await timedStream(caller, { count: 1 });
  const refused = unreached(stream.exchange, caller) ?? withoutDiagnostic(stream);
  if (refused) return refused;
  return { finding: ok('reachable', `answers in ${seconds(list.head!.atMs)} at ${path}`) };
}

/** No answer, or no access. */
function unreached(response: Exchange, { target }: Caller): Reached | undefined {
  const { head, error } = response;
  if (!head) {
    const why = error ? connectionFailure(error, target.origin) : `no answer within ${seconds(LIMIT_MS)}`;
    return { finding: problem('reachable', `cannot be reached: ${why}`), exitCode: EXIT.noConnection };
  }
  if (head.status !== 401 && head.status !== 403) return undefined;
  const wasSent = target.headers['authorization'] !== undefined;
  return {
    finding: problem(
      'reachable',
      refusalInWords(response, wasSent),
      wasSent ? 'authorization' : undefined,
      'Authorization',
    ),
    exitCode: EXIT.refused,
  };
}

function refusalInWords(response: Exchange, wasSent: boolean): string {
  const refusal = serviceProblem(response);
  const status = response.head!.status;
  if (!refusal) return `something before the service refuses access: ${whatCame(response)}`;
  if (!wasSent) return `refuses access (${status}): give an API key or a token with --key or AGENT_QUERY_KEY`;
  if (status === 401 && !isInvalidCredential(response))
    return `the credential did not arrive: a proxy removes the header Authorization (${status})`;
  return `refuses the credential (${status}): ${refusal.detail}`;
}

/** The list of runs shows the service: it is JSON of a known form, and starts nothing. */
function notTheService(response: Exchange, url: string): Reached | undefined {
  if (response.head!.status === 200 && Array.isArray(jsonOf(response)?.['runs'])) return undefined;
  return { finding: problem('reachable', otherAnswer(response, url)), exitCode: EXIT.problem };
}

function otherAnswer(response: Exchange, url: string): string {
  const { status, headers } = response.head!;
  if (serviceProblem(response)) {
    if (status !== 404) return whatCame(response);
    return `${url} is no endpoint of the service: it answers 404. With several agents, give the URL of one.`;
  }
  if (status >= 300 && status < 400)
    return `${url} redirects (${status}) to ${headers.location ?? 'nowhere'}. Clients do not send a query there; use that URL.`;
  if (status >= 502 && status <= 504) return `a proxy answers ${status}: it does not reach the service`;
  const isPage = /html/.test(headers['content-type'] ?? '') || textOf(response).startsWith('<');
  return `${url} is not the service: it answers ${status} with ${isPage ? 'an HTML page' : 'something else'}`;
}

function withoutDiagnostic(stream: TimedStream): Reached | undefined {
  const { exchange, events } = stream;
  if (events.some(({ type }) => type === 'diagnostic')) return undefined;
  if (stream.exchange.isMislabelled)
    return { finding: problem('reachable', mislabelled(stream), 'compression'), exitCode: EXIT.problem };
  return { finding: problem('reachable', whyNoDiagnostic()), exitCode: EXIT.problem };

  function whyNoDiagnostic(): string {
    const { status } = exchange.head!;
    if (status === 404)
      return 'has no agent for tests: mount diagnosticAgent() of nest-agent-query/agents/diagnostic below the path of the agent';
    return `has no answer to a query: ${whatCame(exchange)}${status === 200 ? ', without events' : ''}`;
  }
}
