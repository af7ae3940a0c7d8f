/**
 * Runs the service with its store in a file, lets one call to the file system fail, or all of its kind for some time, and checks
 * that nothing is lost. Linux with a C compiler only:
 *
 *     npm run build && node test/chaos/disks.mjs [--seconds 120] [--seed 1] [--lanes 2]
 *     node test/chaos/disks.mjs --case '{"phase":"work","call":"write","at":5,"error":"EIO"}'    # one case again, with the log
 *
 * A case is a call, while the service starts, works or stops, and a fault; the seed chooses the cases. The checks are
 * those of `databases.mjs`. After each case the service is stopped, in order or with SIGKILL, the file must pass SQLite's
 * integrity check and have no unfinished run, and the service must start again with the same logs. The exit code is 1 if a
 * check fails. A lane is a service of its own.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { SqliteThread } from '../../dist/internals.js';
import { CALLS, compile, FailingFiles } from './failing-files.mjs';
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

/** How long a fault lasts that is not one call only, in milliseconds. */
const PERIOD_MS = 600;
/** How long the service may take to stop. */
const STOP_MS = 15_000;
const PHASES = ['start', 'work', 'stop'];

const ERRORS = {
  open: ['EMFILE', 'ENFILE', 'EROFS', 'EACCES', 'EIO', 'ENOSPC'],
  write: ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EFBIG'],
  sync: ['EIO', 'ENOSPC', 'EDQUOT', 'EROFS'],
  truncate: ['EIO', 'ENOSPC', 'EROFS'],
  unlink: ['EIO', 'EROFS', 'EACCES'],
  mkdir: ['ENOSPC', 'EROFS', 'EMFILE'],
};
const PARTIAL_WRITES = [
  { effect: 'short' },
  { effect: 'torn', error: 'ENOSPC' },
  { effect: 'torn', error: 'EIO' },
];

function faultsOf(call) {
  const failing = ERRORS[call].map((error) => ({ call, error }));
  const partial = call === 'write' ? PARTIAL_WRITES.map((fault) => ({ call, ...fault })) : [];
  return [...failing, ...partial].flatMap((fault) => [fault, { ...fault, periodMs: PERIOD_MS }]);
}

/** Cases without end. Calls that are rare have as many cases as those that are not. */
function* randomCases(counts) {
  for (;;) {
    for (const phase of PHASES) {
      for (const call of CALLS) {
        const count = counts[phase][call];
        if (count > 0) yield { phase, ...random.pick(FAULTS[call]), at: 1 + random.below(count) };
      }
    }
  }
}

const FAULTS = Object.fromEntries(CALLS.map((call) => [call, faultsOf(call)]));

const report = new Report();

/** A service with a directory of its own. */
class Lane {
  #workloads = 0;

  static async start(directory, library) {
    const lane = new Lane();
    lane.data = join(directory, 'data');
    await mkdir(join(lane.data, 'tmp'), { recursive: true });
    lane.directory = directory;
    lane.file = join(lane.data, 'runs.db');
    lane.files = await FailingFiles.make(library, lane.data, join(directory, 'control'));
    await lane.startService();
    return lane;
  }

  async startService() {
    const env = { ...this.files.env, TMPDIR: join(this.data, 'tmp') };
    this.service = await Service.start(`file:${this.file}`, {}, env);
  }

  /** How many calls there are in each phase if nothing disturbs them. */
  async count() {
    const counts = {};
    const { files } = this;
    files.countCalls();
    await work(this.service, 'undisturbed', report.checkOf('undisturbed'));
    counts.work = files.counts;
    files.countCalls();
    await this.service.end('SIGTERM');
    counts.stop = files.counts;
    files.countCalls();
    await this.startService();
    counts.start = files.counts;
    return counts;
  }

  async try(fault) {
    const found = report.failures;
    const check = report.checkOf(fault);
    const disturb = (phase, action) => (phase === fault.phase ? this.#disturb(fault, action) : action());

    const runs = await disturb('work', () => work(this.service, `work ${++this.#workloads}`, check));
    const ready = await untilReady(this.service, check);
    await verify(this.service, runs, check);
    check(this.service.isRunning, 'the service has ended');
    this.#checkLog(check);

    await disturb('stop', () => this.#stop(fault, check));
    await this.#checkFile(check);
    // The service may refuse to start while the disk fails.
    await disturb('start', () => this.startService().catch(() => undefined));
    if (!this.service.isRunning) await this.startService();
    await verify(this.service, runs, check);
    this.#checkLog(check);
    report.count(`${fault.call} ${fault.effect ?? 'fail'}`, this.injected, runs, ready);
    if (report.failures > found) await this.#restart();
  }

  /** Does something while calls fail. */
  async #disturb({ call, at, error, effect, periodMs }, action) {
    const { files } = this;
    files.arm({ call, at, error: constants.errno[error], effect, times: periodMs ? 1e9 : 1 });
    let isOver = false;
    const acting = action().finally(() => (isOver = true));
    while (!isOver && files.injected === 0) await Promise.race([acting, delay(10)]);
    if (files.injected > 0) await delay(periodMs ?? 0);
    this.injected = files.injected;
    files.disarm();
    return acting;
  }

  async #stop({ at, phase }, check) {
    const signal = phase === 'stop' || at % 2 === 0 ? 'SIGTERM' : 'SIGKILL';
    const stopped = this.service.end(signal).then(() => true);
    const isStopped = await Promise.race([stopped, delay(STOP_MS, false, { ref: false })]);
    check(isStopped, `the service has not stopped after ${STOP_MS} ms`);
    await this.service.end('SIGKILL');
  }

  #checkLog(check) {
    const { service } = this;
    if (values.case) console.log(service.log);
    check(service.defects.length === 0, `the service has logged: ${service.defects[0]}`);
  }

  async #checkFile(check) {
    // In a thread, whose end closes the file.
    const file = await SqliteThread.start(this.file);
    const { rows: integrity } = await file.execute('pragma integrity_check', []);
    check(integrity[0].integrity_check === 'ok', `integrity check: ${JSON.stringify(integrity)}`);
    const unfinished = await file.execute('select id, status from runs where ended_at is null', []);
    check(
      unfinished.rows.length === 0,
      `the tables have unfinished runs: ${JSON.stringify(unfinished.rows)}`,
    );
    await file.end();
  }

  /** A service with a defect would fail the checks of the next cases too. */
  async #restart() {
    await this.service.end('SIGKILL');
    await rm(this.data, { recursive: true });
    await mkdir(join(this.data, 'tmp'), { recursive: true });
    await this.startService();
  }

  async close() {
    await this.service?.end('SIGKILL');
    this.files.close();
  }
}

const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-disks-'));
const lanes = [];
try {
  const library = await compile(directory);
  for (let number = 1; number <= LANES; number++)
    lanes.push(await Lane.start(join(directory, `${number}`), library));
  const counts = await lanes[0].count();
  console.log(`calls: ${JSON.stringify(counts)}`);
  const cases = values.case ? [JSON.parse(values.case)].values() : randomCases(counts);
  await tryCases(lanes, cases, Number(values.seconds));
} finally {
  // After a failure too, no process and no file may remain.
  await Promise.all(lanes.map((lane) => lane.close()));
  await rm(directory, { recursive: true });
}
report.print();
