import { LocalRun } from './local-run.js';
import { LocalRuns } from './local-runs.js';
import { recordOfAdmission } from '../../query/index.js';
import { admissionOf } from '../../../packages/store-contract/src/opened-store.js';

const MIB = 1024 * 1024;
const TEXT = 'x'.repeat(1024);

describe('The tails of runs in memory', () => {
  let localRuns: LocalRuns;
  let runs: LocalRun[];
  beforeEach(() => {
    localRuns = new LocalRuns(() => 0);
    runs = Array.from({ length: 400 }, () => {
      const record = recordOfAdmission(admissionOf({}), true, 0);
      const run = new LocalRun(record, '', 'process', { last: 0, endOffset: 0 });
      localRuns.add(run);
      return run;
    });
  });
  const append = (run: LocalRun, count: number) => {
    for (let i = 0; i < count; i++) {
      run.tail.append(TEXT);
      localRuns.limitTails(run);
    }
  };
  const total = () => runs.reduce((sum, { tail }) => sum + tail.length, 0);

  it('have 256 Ki characters each and 64 Mi together, of the runs that grew last', () => {
    for (const run of runs) append(run, 300);
    expect(Math.max(...runs.map(({ tail }) => tail.length))).toBeLessThanOrEqual(256 * 1024);
    expect(total()).toBeGreaterThan(63 * MIB);
    expect(total()).toBeLessThanOrEqual(64 * MIB);
    expect(runs[0]!.tail.length).toBe(0);
    expect(runs.at(-1)!.tail.length).toBeGreaterThan(200 * 1024);
  });

  it('are dropped when their run leaves the process, also if its record is still held', () => {
    const [run, another] = runs as [LocalRun, LocalRun];
    append(run, 300);
    expect(localRuns.find(run.record)).toBe(run);
    localRuns.drop(run);
    expect(localRuns.find(run.record)).toBeUndefined();
    expect(run.tail).toMatchObject({ length: 0, last: 300 });
    expect(localRuns.find({ ...another.record })).toBe(another);
  });

  it('stay with a later attempt of the run, which the process has taken before it drops the earlier one', () => {
    const [earlier] = runs as [LocalRun];
    const later = new LocalRun({ ...earlier.record, attempt: 2 }, '', 'process', { last: 0, endOffset: 0 });
    localRuns.add(later);
    append(later, 300);
    localRuns.drop(earlier);
    expect(localRuns.find({ ...later.record })).toBe(later);
    expect(later.tail.length).toBeGreaterThan(200 * 1024);
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
    expect(Math.min(...runs.map(({ tail }) => tail.length))).toBeLessThan(100 * 1024);
  });
});
