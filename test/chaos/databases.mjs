/**
 * Puts a proxy between the service and Postgres that disturbs one statement of a workload, or all for some time, and checks that
 * nothing is lost:
 *
 *     npm run build && node test/chaos/databases.mjs [--seconds 120] [--seed 1] [--lanes 2]
 *     node test/chaos/databases.mjs --case '{"kind":"cut","at":12}'    # one case again, with the log of the service
 *
 * A case is a statement of the workload and a fault; the seed chooses the cases. After each of them, every run that
 * was admitted must have ended with exactly one `done`, with the envelopes that its callers received, executed once. The
 * service must be ready again, its sessions must answer another query, and no run may be unfinished in the tables. No query
 * gets 500, and no caller waits for more than 30 s. The exit code is 1 if a check fails. A lane is a service of its own.
 */
import { register } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { PostgresProxy } from './postgres-proxy.mjs';
import { randomFrom } from '../support/random.mjs';
import { Report } from './report.mjs';
import { tryCases } from './try-cases.mjs';
import { Service } from './service.mjs';
import { untilReady, verify, work } from './workload.mjs';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    seed: { type: 'string', default: '1' },
    lanes: { type: 'string', default: '2' },
    case: { type: 'string' },
  },
});
const LANES = values.case ? 1 : Number(values.lanes);
const random = randomFrom(Number(values.seed));

/** How long a fault lasts that is not one statement only, in milliseconds: shorter and longer than the service pauses. */
const PERIODS_MS = [600, 3_000];
/** Short, so that the service gives a silent connection up soon. */
const TIMES = { statementTimeoutMs: 700, connectTimeoutMs: 500 };
/** How long unfinished runs may stay in the tables after the last response. */
const SETTLE_MS = 10_000;

/** SQLSTATEs (Postgres, appendix A) that a server, or a pooler before it, answers while it cannot be used. */
const ERRORS = [
  ...[
    '08000',
    '08003',
    '08006',
    '08P01',
    '25006',
    '26000',
    '40001',
    '40003',
    '40P01',
    '42501',
    '42P01',
    '3F000',
  ],
  ...[
    '53000',
    '53100',
    '53200',
    '53300',
    '53400',
    '55000',
    '55P03',
    '57014',
    '58000',
    '58030',
    '58P01',
    'F0000',
  ],
  ...['XX000', 'XX001', 'XX002'],
];
/** SQLSTATEs with which it closes the connection. */
const FATAL_ERRORS = [
  ...[
    '08P01',
    '25P03',
    '28000',
    '28P01',
    '3D000',
    '53200',
    '53300',
    '57P01',
    '57P02',
    '57P03',
    '57P04',
    '57P05',
  ],
  ...['58030', 'XX000'],
];
const LATE_ERRORS = ['08006', '40003', '57P01', '57P02', 'XX000'];

const PLAIN_FAULTS = [
  { kind: 'delay', delayMs: 300 },
  ...['cut', 'halfClose', 'swallow', 'lost', 'lostInSilence'].map((kind) => ({ kind })),
];
const FAULTS = [
  ...PLAIN_FAULTS,
  ...ERRORS.map((sqlState) => ({ kind: 'error', sqlState })),
  ...FATAL_ERRORS.map((sqlState) => ({ kind: 'fatal', sqlState })),
  ...LATE_ERRORS.map((sqlState) => ({ kind: 'lateFatal', sqlState })),
].flatMap((fault) => [fault, ...PERIODS_MS.map((periodMs) => ({ ...fault, periodMs }))]);

/** Cases without end. */
function* randomCases(length) {
  for (;;) yield { ...random.pick(FAULTS), at: 1 + random.below(length) };
}

const report = new Report();
/** The SQL of the statements that were disturbed. */
const statements = new Set();

/** A service with a proxy and a schema of its own. */
class Lane {
  #workloads = 0;

  static async start(number, server) {
    const lane = new Lane();
    lane.schema = `lane_${number}`;
    lane.proxy = await PostgresProxy.start(server.url);
    lane.admin = new pg.Client({ connectionString: server.url });
    await lane.admin.connect();
    await lane.startService();
    return lane;
  }

  async startService() {
    this.service = await Service.start(this.proxy.url, { postgres: { schema: this.schema, ...TIMES } });
  }

  /** How many statements a workload has that nothing disturbs. */
  async count() {
    this.proxy.arm(undefined);
    await work(this.service, `${this.schema} undisturbed`, report.checkOf('undisturbed'));
    return this.proxy.statements;
  }

  async try(fault) {
    const found = report.failures;
    const checkCase = report.checkOf(fault);
    const { proxy, service } = this;
    proxy.arm(fault);
    const runs = await work(service, `${this.schema} ${++this.#workloads}`, checkCase);
    const { injected, struck } = proxy;
    proxy.arm(undefined);
    const ready = await untilReady(service, checkCase);
    await verify(service, runs, checkCase);
    await this.#checkTables(checkCase);
    checkCase(service.isRunning, 'the service has ended');
    checkCase(service.defects.length === 0, `the service has logged: ${service.defects[0]}`);
    report.count(fault.kind, injected, runs, ready);
    if (struck) statements.add(struck);
    if (values.case) console.log(service.log);
    // A service with a defect would fail the checks of the next cases too.
    if (report.failures > found) await this.#restart();
  }

  /** Nothing may be unfinished in the tables when all responses have ended. */
  async #checkTables(checkCase) {
    const until = performance.now() + SETTLE_MS;
    for (;;) {
      const { rows } = await this.admin.query(
        `select id, status from ${this.schema}.runs where ended_at is null`,
      );
      if (rows.length === 0) return;
      if (performance.now() > until)
        return checkCase(false, `the tables have unfinished runs: ${JSON.stringify(rows)}`);
      await delay(20);
    }
  }

  async #restart() {
    await this.service.end('SIGKILL');
    await this.admin.query(`drop schema ${this.schema} cascade`);
    await this.startService();
  }

  async close() {
    await this.service.end('SIGTERM');
    await this.proxy.close();
    await this.admin.end();
  }
}

register('../support/typescript-hooks.mjs', import.meta.url);
const { startPostgres } = await import('../support/postgres.ts');
const server = await startPostgres(['fsync = off']);
const lanes = [];
try {
  for (let number = 1; number <= LANES; number++) lanes.push(await Lane.start(number, server));
  const length = await lanes[0].count();
  console.log(`${length} statements, ${FAULTS.length} faults`);
  const cases = values.case ? [JSON.parse(values.case)].values() : randomCases(length);
  await tryCases(lanes, cases, Number(values.seconds));
} finally {
  // After a failure too, no process and no file may remain.
  await Promise.all(lanes.map((lane) => lane.close()));
  await server.close();
}
report.print({ statements: statements.size });
