import { execFile } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The short form of `kill.mjs`; it drives what `npm run build` has made. */
it.each([['a file'], ['Postgres', '--postgres']])(
  'Nothing is lost when the service is killed in the middle of its runs, with %s',
  async (_, ...options) => {
    const program = join(import.meta.dirname, 'kill.mjs');
    const { stdout } = await run(process.execPath, [program, '--rounds', '2', '--runs', '40', ...options]);
    expect(stdout).toContain('nothing was lost');
  },
  60_000,
);
