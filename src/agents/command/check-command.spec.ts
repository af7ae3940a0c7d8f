import { checkCommand } from './check-command.js';

const check = (command: string) => checkCommand({ command, env: { PATH: process.env['PATH'] } });

describe('A command', () => {
  it.each([
    'cat',
    '/bin/cat',
    'NAME=value OTHER= cat -u',
    'if true; then cat; fi',
    'exec cat | cat',
    '"$AGENT" --fast',
    '(cd /; ls)',
  ])('can be executed: %s', async (command) => {
    await expect(check(command)).resolves.toBeUndefined();
  });

  it.each([
    [
      'no-such-program agent.py',
      'There is no program "no-such-program". Install it, or correct its name or path.',
    ],
    ['A=b ./nowhere.sh', 'There is no program "./nowhere.sh". Install it, or correct its name or path.'],
    ['python3 "agent.py', /^The shell does not understand it: .*syntax/i],
  ])('cannot be executed: %s', async (command, message) => {
    await expect(check(command)).rejects.toThrow(message);
  });

  it('cannot be executed in a folder that does not exist', async () => {
    const check = checkCommand({ command: 'cat', cwd: '/nowhere' });
    await expect(check).rejects.toThrow(/^The folder "\/nowhere", .* does not exist\./);
  });
});
