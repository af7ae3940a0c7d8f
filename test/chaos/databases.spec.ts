import { execFile } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The short form of `databases.mjs`; it uses what `npm run build` has built. */
it('Nothing is lost when statements fail, or connections to Postgres break', async () => {
  const program = join(import.meta.dirname, 'databases.mjs');
  const { stdout, stderr } = await run(process.execPath, [program, '--seconds', '5', '--lanes', '1']);
  expect(stderr).toBe('');
  const [schedule, figures, ready, result] = stdout.trimEnd().split('\n');
  expect(schedule).toMatch(/^[1-9]\d+ statements, [1-9]\d+ faults$/);
  expect(ready).toMatch(/^ready again after \d+ ms at most$/);
  expect(result).toBe('nothing was lost');
  const counts = JSON.parse(figures!) as Record<'cases' | 'injected' | 'runs' | 'received', number>;
  expect(Math.min(counts.cases, counts.injected)).toBeGreaterThanOrEqual(1);
  // Each workload has six runs that are kept, and each of them at least one envelope.
  expect(counts.runs).toBe(6 * counts.cases);
  expect(counts.received).toBeGreaterThanOrEqual(counts.runs);
}, 120_000);
