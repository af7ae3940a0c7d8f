import { execFile } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);

const SCHEDULES = 4;

/** What `schedules.mjs` tells of one store. */
interface Report {
  store: string;
  schedules: number;
  commands: Record<string, number>;
}

/** The short form of `schedules.mjs`. Its seed is fixed: other seeds are for the program. */
it('The service does on every store what the model of the interface says', async () => {
  const program = join(import.meta.dirname, 'schedules.mjs');
  const options = ['--seed', '8', '--schedules', `${SCHEDULES}`, '--no-kills'];
  const { stdout, stderr } = await run(process.execPath, [program, ...options]);
  expect(stderr).toBe('');
  const reports = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Report);
  expect(reports.map(({ store }) => store)).toEqual(['memory', 'slow', 'sqlite', 'postgres']);
  for (const { schedules, commands } of reports) {
    expect(schedules).toBe(SCHEDULES);
    expect(Object.values(commands).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(SCHEDULES);
  }
}, 180_000);
