import { LocalRun } from './local-run.js';
import { LocalRuns } from './local-runs.js';
import { recordOfAdmission } from '../../query/index.js';
import { admissionOf } from '../../testing/store-contract/opened-store.js';

const MIB = 1024 * 1024;
const TEXT = 'x'.repeat(1024);

describe('The tails of runs in memory', () => {
  const localRuns = new LocalRuns(() => 0);
  const runs = Array.from({ length: 400 }, () => {
    const run = new LocalRun(recordOfAdmission(admissionOf({}), true, 0), '', 'process', 0);
    localRuns.add(run);
    return run;
  });
  const append = (run: LocalRun, count: number) => {
    for (let i = 0; i < count; i++) {
      run.tail.append(TEXT);
      localRuns.limitTails(run);
    }
  };
  const total = () => runs.reduce((sum, { tail }) => sum + tail.length, 0);
  afterEach(() => runs.forEach((run) => localRuns.drop(run.id)));

  it('have 256 Ki characters each and 64 Mi together, of the runs that grew last', () => {
    for (const run of runs) append(run, 300);
    expect(Math.max(...runs.map(({ tail }) => tail.length))).toBeLessThanOrEqual(256 * 1024);
    expect(total()).toBeGreaterThan(63 * MIB);
    expect(total()).toBeLessThanOrEqual(64 * MIB);
    expect(runs[0]!.tail.length).toBe(0);
    expect(runs.at(-1)!.tail.length).toBeGreaterThan(200 * 1024);
  });

  it('keep what only the journal has', () => {
    for (const run of runs) append(run, 150);
    for (const run of runs) {
      const { lastSeq: after, endOffset: afterOffset } = run;
      run.journaled = { after, afterOffset, fullLength: Infinity, row: 1, since: 0 };
    }
    for (const run of runs) append(run, 50);
    expect(total()).toBeLessThanOrEqual(64 * MIB);
    for (const { tail, journaled } of runs) expect(tail.oldest).toBeLessThanOrEqual(journaled!.after + 1);
    expect(runs[0]!.tail.length).toBeLessThan(100 * 1024);
  });
});
