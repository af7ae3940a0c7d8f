import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);

const hasCompiler = spawnSync('cc', ['--version']).status === 0;
const reason = [
  ...(process.platform === 'linux' ? [] : ['LD_PRELOAD and the paths of the library are those of Linux']),
  ...(hasCompiler ? [] : ['there is no C compiler (cc), which compiles failing-files.c']),
].join('; ');
const test = reason === '' ? it : it.skip;

/** The short form of `disks.mjs`; it uses what `npm run build` has built. */
test(`Nothing is lost when calls to the file system fail${reason && ` (skipped: ${reason})`}`, async () => {
  const program = join(import.meta.dirname, 'disks.mjs');
  const { stdout, stderr } = await run(process.execPath, [program, '--seconds', '5', '--lanes', '1']);
  expect(stderr).toBe('');
  const [calls, figures, ready, result] = stdout.trimEnd().split('\n');
  expect(calls).toMatch(/^calls: \{"work":\{"open":\d+,"write":\d+,"sync":\d+,/);
  expect(ready).toMatch(/^ready again after \d+ ms at most$/);
  expect(result).toBe('nothing was lost');
  const counts = JSON.parse(figures!) as Record<'cases' | 'injected' | 'runs' | 'received', number>;
  expect(Math.min(counts.cases, counts.injected)).toBeGreaterThanOrEqual(1);
  // Each workload has six runs that are kept, and each of them at least one envelope.
  expect(counts.runs).toBe(6 * counts.cases);
  expect(counts.received).toBeGreaterThanOrEqual(counts.runs);
}, 120_000);
