import { request } from '../client.js';
import { CONNECTIONS_OF_SERVICE } from '../postgres.js';
import { type Caller, isDone } from './caller.js';
import type { Cluster } from './cluster.js';

/** How long the runs of a test may take to end, in milliseconds. */
const END_MS = 20_000;
/** How long rows and connections may take to be gone, in milliseconds. */
const SETTLE_MS = 10_000;

/**
 * Waits for the end of all runs, and returns what is wrong, in sentences: nothing that a caller has received may be missing in
 * the log, numbers have no gaps, each run has one `done`, each session answers, no run was executed twice, and no row is left
 * open. The callers of the next check are those that come after this one.
 */
export async function faultsOf(cluster: Cluster): Promise<string[]> {
  const callers = cluster.callers.splice(0);
  const stuck = await endless(callers);
  if (stuck.length > 0) return stuck;
  const faults = [
    ...callers.flatMap((caller) => caller.faults),
    ...(await Promise.all(callers.map((caller) => faultsOfLog(cluster, caller)))).flat(),
    ...(await faultsOfSessions(cluster, callers)),
    ...(await faultsOfExecutions(cluster)),
    ...(await faultsOfRows(cluster)),
  ];
  for (const member of cluster.members) {
    faults.push(...member.defects.map((line) => `${member.name} has logged: ${line}`));
    const hasLost = member.log.includes('other processes own its');
    if (hasLost && !member.wasFrozen) faults.push(`${member.name} has lost its lease.`);
  }
  cluster.callers.length = 0;
  return [...new Set(faults)];
}

/** Stops all processes in order, and returns what is wrong, in sentences: each ends with 0 and leaves no connection. */
export async function faultsOfStop(cluster: Cluster): Promise<string[]> {
  const { running } = cluster;
  const ends = await Promise.all(running.map(async (member) => [member.name, await member.stop()]));
  const connections = await settledRows(
    cluster,
    `select pid, state, client_port, backend_start, query ${CONNECTIONS_OF_SERVICE}`,
    0,
  );
  return [
    ...ends.filter(([, end]) => end !== 0).map(([name, end]) => `${name} ends with ${end}.`),
    ...connections.map((row) => `A connection is left: ${JSON.stringify(row)}`),
  ];
}

/** The callers whose run does not end, in sentences. */
async function endless(callers: Caller[]): Promise<string[]> {
  const waiting = new Set(callers);
  for (const caller of callers) void caller.ended.then(() => waiting.delete(caller));
  const until = performance.now() + END_MS;
  while (waiting.size > 0 && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 10));
  return [...waiting].map(
    ({ runId, received }) => `The run ${runId} has no end after ${received.length} events.`,
  );
}

/** The log of a run, as each process has it. */
async function faultsOfLog(cluster: Cluster, caller: Caller): Promise<string[]> {
  const { runId, received } = caller;
  if (runId === undefined) return caller.hasLeft ? [] : ['A query was not admitted.'];
  const faults: string[] = [];
  const logs = new Set<string>();
  for (const member of cluster.running.filter(({ hasEndpoint }) => hasEndpoint)) {
    const follower = cluster.follow(member, runId);
    await follower.ended;
    faults.push(...follower.faults);
    const log = follower.received.map(({ data }) => data);
    logs.add(log.join('\n'));
    if (log.filter(isDone).length !== 1) faults.push(`The log of ${runId} has not one done.`);
    if (received.some(({ seq, data }) => log[seq - 1] !== data))
      faults.push(`The log of ${runId} has not what its caller received.`);
    if (!caller.hasLeft && received.length !== log.length)
      faults.push(`The caller of ${runId} has received ${received.length} of ${log.length} events.`);
  }
  if (logs.size !== 1) faults.push(`The processes have ${logs.size} logs of ${runId}.`);
  return faults;
}

/** Each session takes another query, and has one turn per run. */
async function faultsOfSessions(cluster: Cluster, callers: Caller[]): Promise<string[]> {
  const sessions = new Set(callers.flatMap(({ query }) => query?.session ?? []));
  const members = cluster.running.filter(({ hasEndpoint }) => hasEndpoint);
  const faults = [...sessions].map(async (session) => {
    const again = cluster.ask(members, { text: 'again', session });
    await again.ended;
    const { status } = again.end as { status: string };
    const isAnswered = status === 'completed' ? [] : [`The session ${session} answers with ${status}.`];
    const page = await request(members[0]!.url, {
      method: 'GET',
      path: `/query/sessions/${session}?limit=500`,
    });
    const { turns } = await page.json<{ turns: { runId: string }[] }>();
    const kept = turns.map(({ runId }) => runId);
    return new Set(kept).size === kept.length ? isAnswered : [...isAnswered, `${session} has a turn twice.`];
  });
  return (await Promise.all(faults)).flat();
}

async function faultsOfExecutions(cluster: Cluster): Promise<string[]> {
  const executions = await cluster.executions();
  const called = executions.filter(({ what }) => what === 'called');
  const attempts = new Map<string, number[]>();
  for (const { runId, attempt } of called) attempts.set(runId, [...(attempts.get(runId) ?? []), attempt]);
  return [...attempts].flatMap(([runId, list]) => {
    // An attempt that ends in a question does not count.
    const asked = executions.filter((each) => each.what === 'asked' && each.runId === runId).length;
    if (list.length > 1 + cluster.restarts + asked || new Set(list).size < list.length)
      return [`The run ${runId} was executed ${list.length} times: attempts ${list.join(', ')}.`];
    return [];
  });
}

/** All runs have ended, and only processes that run have a lease. */
async function faultsOfRows(cluster: Cluster): Promise<string[]> {
  const open = await settledRows(
    cluster,
    'select id, status, process from schema.runs where ended_at is null',
    0,
  );
  const leases = await settledRows(cluster, 'select * from schema.processes', cluster.running.length);
  return [
    ...open.map((row) => `A row is left open: ${JSON.stringify(row)}`),
    ...(leases.length === cluster.running.length
      ? []
      : [`${cluster.running.length} processes run, and ${leases.length} have a lease.`]),
  ];
}

/** Selects rows until there are as many as expected, for some time. */
async function settledRows(cluster: Cluster, statement: string, expected: number): Promise<object[]> {
  const until = performance.now() + SETTLE_MS;
  for (;;) {
    const rows = await cluster.select<object>(statement);
    if (rows.length === expected || performance.now() > until) return rows;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
