import { execFile } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);

const ROUNDS = 2;

// The program reads `/proc`.
const onLinux = process.platform === 'linux' ? it : it.skip;

/** The short form of `soak.mjs`; it uses what `npm run build` has built. The commits of a database take time. */
onLinux.each([
  ['memory', '1000'],
  ['file', '200'],
  ['postgres', '200'],
])(
  'No run, file or row is kept for longer than its retention, in the store %s',
  async (store, queries) => {
    const program = join(import.meta.dirname, 'soak.mjs');
    const sizes = ['--queries', queries, '--rounds', `${ROUNDS}`];
    const { stdout, stderr } = await run(process.execPath, [program, '--store', store, ...sizes]);
    expect(stderr).toBe('');
    const lines = stdout.trimEnd().split('\n');
    expect(lines.pop()).toBe('nothing has grown');
    expect(lines.filter((line) => line.startsWith('round '))).toHaveLength(ROUNDS);
    // What is left is known, and what was dropped had been there.
    const dropped = lines.filter(
      (line) => line.includes('"runs":0,"log":0') && !line.includes(' 0 runs dropped'),
    );
    expect(dropped).toHaveLength(store === 'memory' ? 0 : ROUNDS);
  },
  120_000,
);
