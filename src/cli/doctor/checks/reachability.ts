import type { Caller } from '../caller.js';
import { connectionFailure } from '../connection-failure.js';
import { EXIT_CODES } from '../exit-codes.js';
import { type Exchange, textOf } from '../exchange.js';
import { type Finding, ok, problem, seconds } from '../finding.js';
import { answerInWords, jsonOf, serviceProblem } from '../problem-body.js';
import { isWhole, timedStream, type TimedStream } from '../timed-stream.js';

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
  const failed = failureOf(list, caller) ?? notTheService(list, `${origin.origin}${path}`);
  if (failed) return failed;
  const stream = await timedStream(caller, { count: 1 });
  const refused = failureOf(stream.exchange, caller) ?? withoutDiagnostic(stream);
  if (refused) return refused;
  return { finding: ok('reachable', `answers in ${seconds(list.head!.atMs)} at ${path}`) };
}

/** No answer, or no access. */
function failureOf(response: Exchange, { target }: Caller): Reached | undefined {
  const { head, error } = response;
  if (!head) {
    const why = error ? connectionFailure(error, target.origin) : `no answer within ${seconds(LIMIT_MS)}`;
    return { finding: problem('reachable', `cannot be reached: ${why}`), exitCode: EXIT_CODES.unreachable };
  }
  if (head.status !== 401 && head.status !== 403) return undefined;
  const wasSent = target.headers['authorization'] !== undefined;
  return {
    finding: problem(
      'reachable',
      refusalInWords(response, wasSent),
      wasSent ? 'request-header' : undefined,
      'Authorization',
    ),
    exitCode: EXIT_CODES.refused,
  };
}

function refusalInWords(response: Exchange, wasSent: boolean): string {
  const refusal = serviceProblem(response);
  const status = response.head!.status;
  if (!refusal) return `something before the service refuses access: it ${answerInWords(response)}`;
  if (!wasSent) return `refuses access (${status}): give an API key or a token with --key or AGENT_QUERY_KEY`;
  // RFC 6750 §3.1: only a request that had a credential is told that it is invalid.
  const challenge = String(response.head!.headers['www-authenticate'] ?? '');
  if (status === 401 && challenge !== '' && !challenge.includes('error='))
    return `the credential did not arrive: a proxy removes the header Authorization (${status})`;
  return `refuses the credential (${status}): ${refusal.detail}`;
}

function notTheService(response: Exchange, url: string): Reached | undefined {
  const { status, headers } = response.head!;
  if (status === 200 && Array.isArray(jsonOf(response)?.['runs'])) return undefined;
  return { finding: problem('reachable', sentence()), exitCode: EXIT_CODES.problem };

  function sentence(): string {
    const refusal = serviceProblem(response);
    if (refusal)
      return `${url} answers ${status} "${refusal.code}": ${refusal.detail} With several agents, give the URL of one.`;
    if (status >= 300 && status < 400)
      return `${url} redirects (${status}) to ${headers.location ?? 'nowhere'}. Clients do not repeat a query there; use that URL.`;
    if (status >= 502 && status <= 504) return `a proxy answers ${status}: it does not reach the service`;
    const isPage = /html/.test(headers['content-type'] ?? '') || textOf(response).startsWith('<');
    const what = isPage ? 'an HTML page' : 'something else';
    return `${url} is not the service: it answers ${status} with ${what}`;
  }
}

function withoutDiagnostic(stream: TimedStream): Reached | undefined {
  const { head } = stream.exchange;
  if (head!.status === 200 && stream.events.some(({ type }) => type === 'diagnostic')) return undefined;
  if (head!.status === 200 && !isWhole(stream))
    return {
      finding: problem('reachable', 'the answer to a POST has no events'),
      exitCode: EXIT_CODES.problem,
    };
  const refusal = serviceProblem(stream.exchange);
  const measured =
    head!.status === 404
      ? 'has no agent for tests: mount diagnosticHandler() of nest-agent-query/agents/diagnostic below the path of the agent'
      : `a query is refused: it ${answerInWords(stream.exchange)}${refusal ? `: ${refusal.detail}` : ''}`;
  return { finding: problem('reachable', measured), exitCode: EXIT_CODES.problem };
}
