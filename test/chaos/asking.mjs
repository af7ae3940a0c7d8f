/**
 * Disturbs what happens around a question and its answer, and checks that there is one request, one id and one outcome:
 *
 *     npm run build && node test/chaos/asking.mjs [--faults 40] [--kills 20] [--answers 100] [--seed 1]
 *     node test/chaos/asking.mjs --case '{"kind":"lost","at":7}'    # one case again, with the log of the service
 *
 * - faults: a proxy between the service and Postgres disturbs one statement, from the query to its end: cut, swallowed, executed
 *   without an answer, refused. With as many as there are statements, each of them is disturbed.
 * - kills: the service is killed with SIGKILL at one statement, and started again.
 * - answers: two processes get different answers to one question at the same time.
 *
 * The exit code is 1 if a check fails.
 */
import { register } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { randomFrom } from '../support/random.mjs';
import { Caller } from './caller.mjs';
import { PostgresProxy } from './postgres-proxy.mjs';
import { Report } from './report.mjs';
import { Service } from './service.mjs';

const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: '40' },
    kills: { type: 'string', default: '20' },
    answers: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    case: { type: 'string' },
  },
});
const random = randomFrom(Number(values.seed));
const KINDS = [
  ...['cut', 'halfClose', 'swallow', 'lost', 'lostInSilence'].map((kind) => ({ kind })),
  ...['40001', '40P01', '57014', '53300'].map((sqlState) => ({ kind: 'error', sqlState })),
  { kind: 'lateFatal', sqlState: '57P01' },
];
const TIMES = { statementTimeoutMs: 700, connectTimeoutMs: 500 };
const report = new Report();
const yes = (id) => ({ id, outcome: 'answered', value: { approved: true } });
const no = (id) => ({ id, outcome: 'answered', value: { approved: false } });

let queries = 0;

/** Asks twice, and answers each question as soon as it is read; until the end of the run. */
async function work(urlOf, check, { isSession = true } = {}) {
  const number = ++queries;
  const caller = new PatientCaller(urlOf, check);
  const kwargs = { events: 1, asks: 2, ...(isSession && { session_id: `s${number % 3}-${number}` }) };
  const answered = new Set();
  const onEvent = async ({ id, received }) => {
    const { type, data } = JSON.parse(received.at(-1));
    if (type !== 'input_required' || answered.has(data.requests[0].id)) return;
    answered.add(data.requests[0].id);
    await answerUntilAccepted(() => urlOf(), id, yes(data.requests[0].id), check);
  };
  return caller.ask({ text: `query ${number}`, kwargs, key: `key ${number} ${process.pid}` }, onEvent);
}

/** A caller of a service that may be away for some time, and has another address then. */
class PatientCaller extends Caller {
  constructor(urlOf, check) {
    super('', check);
    Object.defineProperty(this, 'url', { get: urlOf });
  }

  async send(path, options) {
    for (const until = Date.now() + 30_000; ; await delay(50)) {
      try {
        return await super.send(path, options);
      } catch (error) {
        if (Date.now() > until) throw error;
      }
    }
  }
}

/** A caller whose answer is lost sends it again. */
async function answerUntilAccepted(urlOf, runId, answer, check) {
  for (const until = Date.now() + 30_000; Date.now() < until; await delay(50)) {
    const response = await post(urlOf(), runId, answer).catch(() => undefined);
    if (response === undefined || response.status === 503) continue;
    check(response.status === 200, `the answer gets ${response.status}: ${await response.text()}`);
    return;
  }
  check(false, 'the answer is not accepted');
}

function post(url, runId, answer) {
  return fetch(`${url}/${runId}/inputs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ answers: [answer] }),
    signal: AbortSignal.timeout(10_000),
  });
}

/** One request of each id, one outcome of each request, and the end. */
async function verify(url, { id, received }, check) {
  const log = (await new Caller(url, check).follow(id)).map((line) => JSON.parse(line));
  check(JSON.stringify(log) === JSON.stringify(received.map((line) => JSON.parse(line))), 'the log differs');
  const requests = log.flatMap(({ type, data }) => (type === 'input_required' ? data.requests : []));
  const answers = log.flatMap(({ type, data }) => (type === 'input_resolved' ? data.answers : []));
  const ids = JSON.stringify(requests.map((request) => request.id));
  check(ids === '["q1","q2"]', `the run has the requests ${ids}`);
  const outcomes = JSON.stringify(answers.map((each) => [each.id, each.outcome, each.value]));
  const both = '[["q1","answered",{"approved":true}],["q2","answered",{"approved":true}]]';
  check(outcomes === both, `the run has the outcomes ${outcomes}`);
  check(log.at(-1).data.status === 'completed', `the run ends with ${JSON.stringify(log.at(-1).data)}`);
  const { inputs } = await (await fetch(`${url}/inputs`)).json();
  check(inputs.length === 0, `requests are open: ${JSON.stringify(inputs)}`);
}

register('../support/typescript-hooks.mjs', import.meta.url);
const { startPostgres } = await import('../support/postgres.ts');
const server = await startPostgres(['fsync = off']);
const proxy = await PostgresProxy.start(server.url);
const services = [];
const start = async (url, options = {}) => {
  const postgres = { schema: 'asking', ...TIMES };
  // A run that is killed while it executes continues too.
  const service = await Service.start(url, { postgres, ...options }, { RESTARTS: '1000' });
  services.push(service);
  return service;
};
let service = await start(proxy.url);

/** Disturbs one statement. */
async function tryFault(fault, check) {
  proxy.arm(fault);
  const run = await work(() => service.url, check);
  const { injected } = proxy;
  proxy.arm(undefined);
  await verify(service.url, run, check);
  check(service.isRunning, 'the service has ended');
  check(service.defects.length === 0, `the service has logged: ${service.defects[0]}`);
  report.count(fault.kind, injected, [run], 0);
}

/** Kills the service when a statement has arrived, and starts it again. */
async function tryKill(at, check) {
  proxy.arm({ kind: 'swallow', at });
  const killing = (async () => {
    while (proxy.injected === 0 && proxy.statements < at + 1_000) await delay(1);
    proxy.arm(undefined);
    await service.end('SIGKILL');
    service = await start(proxy.url);
  })();
  const run = await work(() => service.url, check);
  // The workload may end before the statement.
  proxy.arm({ kind: 'cut', at: 1 });
  await killing;
  proxy.arm(undefined);
  await verify(service.url, run, check);
  report.count('kill', 1, [run], 0);
}

try {
  proxy.arm(undefined);
  await verify(
    service.url,
    await work(() => service.url, report.checkOf('undisturbed')),
    report.checkOf('undisturbed'),
  );
  const length = proxy.statements;
  console.log(`${length} statements from the query to its end`);
  if (values.case) {
    const one = JSON.parse(values.case);
    await (one.kind === 'kill' ? tryKill(one.at, report.checkOf(one)) : tryFault(one, report.checkOf(one)));
    console.log(service.log);
  } else {
    for (let n = 0; n < Number(values.faults); n++) {
      const fault = { ...random.pick(KINDS), at: 1 + (n % length) };
      await tryFault(fault, report.checkOf(fault)).catch((error) =>
        report.checkOf(fault)(false, error.message),
      );
    }
    for (let n = 0; n < Number(values.kills); n++) {
      const kill = { kind: 'kill', at: 1 + (n % length) };
      await tryKill(kill.at, report.checkOf(kill)).catch((error) =>
        report.checkOf(kill)(false, error.message),
      );
    }
    await answerTwice(Number(values.answers));
  }
} finally {
  for (const each of services) if (each.isRunning) await each.end('SIGKILL');
  await proxy.close();
  await server.close();
}
report.print({});

/** Two processes get different answers at the same time, again and again. */
async function answerTwice(count) {
  // Not through the proxy, which takes its time for each statement.
  const [one, other] = [await start(server.url), await start(server.url)];
  for (let n = 0; n < count; n++) {
    const check = report.checkOf(`answers ${n}`);
    const caller = new Caller(one.url, check);
    const onEvent = async ({ id, received }) => {
      const { type, data } = JSON.parse(received.at(-1));
      if (type !== 'input_required') return;
      const [request] = data.requests;
      const responses = await Promise.all([
        post(one.url, id, yes(request.id)),
        post(other.url, id, no(request.id)),
      ]);
      const [first, second] = responses.map(({ status }) => status);
      check([first, second].sort().join() === '200,409', `two answers get ${first} and ${second}`);
      const lost = responses.find(({ status }) => status === 409);
      const problem = lost && (await lost.json());
      const won = first === 200;
      check(problem?.answers?.[0]?.value.approved === won, `the problem names ${JSON.stringify(problem)}`);
    };
    const run = await caller.ask(
      { text: `twice ${n}`, kwargs: { events: 0, asks: 1 }, key: `twice ${n}` },
      onEvent,
    );
    const answers = run.received
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type === 'input_resolved');
    check(answers.length === 1 && answers[0].data.answers.length === 1, 'the log has not one answer');
    report.count('answers', 1, [run], 0);
  }
}
