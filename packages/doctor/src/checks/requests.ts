import { randomUUID } from 'node:crypto';
import type { Caller } from '../caller.js';
import { type Exchange, textOf } from '../exchange.js';
import { type Finding, ok, problem, unknown } from '../finding.js';
import { whatCame, jsonOf, serviceProblem } from '../problem-body.js';
import { bodyOf, followed, timedStream } from '../timed-stream.js';

const LIMIT_MS = 15_000;
const SHORT = { count: 3, intervalMs: 0 };

/** Checks what proxies do with the headers and the methods that runs need. */
export async function checkRequests(caller: Caller): Promise<Finding[]> {
  return Promise.all([
    checkAccept(caller),
    checkLastEventId(caller),
    checkIdempotencyKey(caller),
    checkDelete(caller),
  ]);
}

async function checkAccept(caller: Caller): Promise<Finding> {
  const [full, plain] = await Promise.all([
    timedStream(caller, SHORT),
    timedStream(caller, SHORT, { accept: '*/*' }),
  ]);
  if (full.events.length === 0) return unknown('accept', `no stream: ${whatCame(full.exchange)}`);
  if (full.runId === undefined)
    return problem(
      'accept',
      'text/event-stream does not arrive, so that events have no ids: clients cannot resume',
      'request-header',
    );
  if (/^(?:id|retry):/m.test(textOf(plain.exchange)))
    return problem(
      'accept',
      'is set to text/event-stream for all: clients that read only "data:" lines fail',
      'request-header',
    );
  return ok('accept', 'selects how the stream is written');
}

async function checkLastEventId(caller: Caller): Promise<Finding> {
  const { runId, exchange } = await timedStream(caller, SHORT);
  if (runId === undefined)
    return unknown('last-event-id', `there is no run to resume: ${whatCame(exchange)}`);
  const resumed = await followed(caller, runId, { 'last-event-id': `${runId}.2` });
  const [first] = resumed.events;
  if (first?.id === `${runId}.3`) return ok('last-event-id', 'resumes a stream');
  if (first?.id === `${runId}.1`)
    return problem(
      'last-event-id',
      'does not arrive: a stream that is resumed begins again',
      'request-header',
    );
  return unknown('last-event-id', `a run could not be followed: ${whatCame(resumed.exchange)}`);
}

async function checkIdempotencyKey(caller: Caller): Promise<Finding> {
  const headers = { 'idempotency-key': randomUUID() };
  const first = await timedStream(caller, SHORT, headers);
  const second = await timedStream(caller, SHORT, headers);
  if (first.runId === undefined || second.runId === undefined)
    return unknown('idempotency-key', `two queries could not be compared: ${whatCame(second.exchange)}`);
  if (first.runId === second.runId) return ok('idempotency-key', 'a repeated query finds its run');
  return problem(
    'idempotency-key',
    'does not arrive: a repeated query runs the agent again',
    'request-header',
  );
}

async function checkDelete(caller: Caller): Promise<Finding> {
  const { id, answer } = await startDetached(caller);
  if (id === undefined) return unknown('delete', `there is no run to cancel: ${answer}`);
  const response = await caller.exchange({
    method: 'DELETE',
    path: `${caller.diagnosticPath}/${id}`,
    limitMs: LIMIT_MS,
  });
  if (jsonOf(response)?.['id'] === id) return ok('delete', `cancels a run${fromWhere(response)}`);
  const refusal = serviceProblem(response);
  if (refusal) return unknown('delete', whatCame(response));
  return problem(
    'delete',
    `does not reach the service, so that runs cannot be cancelled: ${whatCame(response)}`,
    'delete',
  );
}

/** Some proxies have a rule for callers elsewhere, such as Traffic Server, which takes no DELETE of them. */
function fromWhere({ isOnThisMachine }: Exchange): string {
  return isOnThisMachine
    ? ' from this machine; rules for other addresses were not tested: call it from elsewhere'
    : '';
}

/** Starts a run that lasts for longer than the check, without a stream: its id is in the JSON also where streams are changed. */
async function startDetached(caller: Caller): Promise<{ id: string | undefined; answer: string }> {
  const response = await caller.exchange({
    method: 'POST',
    path: caller.diagnosticPath,
    headers: { 'content-type': 'application/json', prefer: 'respond-async' },
    write: (request) => void request.end(bodyOf({ count: 2, silenceMs: 2 * LIMIT_MS })),
    limitMs: LIMIT_MS,
    isEnough: ({ head }) => head!.status === 200,
  });
  const id = jsonOf(response)?.['id'];
  return { id: typeof id === 'string' ? id : undefined, answer: whatCame(response) };
}
