import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const CLOCK = join(import.meta.dirname, '../../../dist/internals.js');

/** What a process prints that starts a time of computing, and then does something. */
function printed(ms: number, program: string): string {
  const whole = `import { Clock } from '${CLOCK}';
    const clock = new Clock();
    const begun = process.cpuUsage();
    const computed = () => process.cpuUsage(begun).user / 1000;
    const timer = clock.startComputing('schemaMs', ${ms}, () => {
      const { user, system } = process.cpuUsage(begun);
      console.log(user + system >= ${ms} * 1000 ? 'passed' : 'passed too early');
    });
    ${program}`;
  return execFileSync(process.execPath, ['--input-type=module', '--eval', whole], {
    encoding: 'utf8',
  }).trim();
}

describe('A time of computing', () => {
  it('does not pass while the process has nothing to do', () => {
    const program = `setTimeout(() => { clock.stop(timer); console.log('stopped'); }, 600);`;
    expect(printed(400, program)).toBe('stopped');
  });

  it('passes when the process has computed for as long', () => {
    expect(printed(40, `while (computed() < 60);`)).toBe('passed');
  });

  it('does not pass after it is stopped', () => {
    expect(printed(40, `clock.stop(timer); while (computed() < 60);`)).toBe('');
  });
});
