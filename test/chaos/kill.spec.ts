import { execFile } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);

const ROUNDS = 2;
const RUNS = 40;

/** What `kill.mjs` counts of all rounds. */
interface Counts {
  runs: number;
  received: number;
  completed: number;
  failed: number;
  refused: number;
}

/** The short form of `kill.mjs`; it uses what `npm run build` has built. */
it.each([
  ['a file', [], ['integrity check: ok']],
  ['Postgres', ['--postgres'], []],
  ['two processes on Postgres', ['--processes', '2'], []],
])(
  'Nothing is lost when the service is killed in the middle of its runs, with %s',
  async (_, options, checks) => {
    const program = join(import.meta.dirname, 'kill.mjs');
    const sizes = ['--rounds', `${ROUNDS}`, '--runs', `${RUNS}`];
    const { stdout, stderr } = await run(process.execPath, [program, ...sizes, ...options]);
    expect(stderr).toBe('');
    const lines = stdout.trimEnd().split('\n');
    expect(lines.splice(0, ROUNDS).map((line) => /^round (\d+): /.exec(line)?.[1])).toEqual(['1', '2']);
    const counts = JSON.parse(lines.splice(-2, 1)[0]!) as Counts;
    expect(lines).toEqual([...checks, 'nothing was lost']);
    expect(Object.keys(counts)).toEqual(['runs', 'received', 'completed', 'failed', 'refused']);
    expect(counts.runs + counts.refused).toBe(ROUNDS * RUNS);
    expect(counts.completed + counts.failed).toBe(counts.runs);
    // The kill comes when runs have sent something.
    expect(Math.min(counts.runs, counts.received)).toBeGreaterThanOrEqual(ROUNDS);
  },
  120_000,
);
