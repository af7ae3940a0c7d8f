import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { apiKeysOf } from '../../src/access/index.js';
import { promise } from '../promises.js';

const MAIN = resolve(import.meta.dirname, '../../dist/cli/main.js');

/** Executes the command `nest-agent-query`, and returns what it has written and its exit code. */
async function run(...parameters: string[]): Promise<{ stdout: string; stderr: string; code: number }> {
  const env = { PATH: process.env['PATH'] };
  return promisify(execFile)(process.execPath, [MAIN, ...parameters], { env }).then(
    (output) => ({ ...output, code: 0 }),
    ({ stdout, stderr, code }: { stdout: string; stderr: string; code: number }) => ({
      stdout,
      stderr,
      code,
    }),
  );
}

describe('The command line', () => {
  it(promise('cli.help'), async () => {
    const { stdout, stderr, code } = await run();
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Usage: nest-agent-query /);
    expect(stdout).toMatch(/^ {2}keys /m);
    expect(await run('--help')).toEqual({ stdout, stderr, code });
    expect(await run('no-such-command')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("unknown command 'no-such-command'"),
    });
  });

  it(promise('cli.keys-create'), async () => {
    const { stdout, stderr, code } = await run('keys', 'create', 'ann.b-c_1');
    expect([code, stderr]).toEqual([0, '']);
    const keys = stdout.match(/^naq_[\w-]{43}$/gm)!;
    expect(keys).toHaveLength(1);
    const sha256 = createHash('sha256').update(keys[0]).digest('hex');
    expect(apiKeysOf(/^API_KEYS=(.*)$/m.exec(stdout)![1])).toEqual([{ name: 'ann.b-c_1', sha256 }]);
    expect(stdout.split(`ann.b-c_1:${sha256}`)).toHaveLength(3);
    expect((await run('keys', 'create', 'ann.b-c_1')).stdout).not.toContain(keys[0]);
  });

  it.each([[[]], [['a b']], [['']], [['a'.repeat(65)]], [['naq_a']], [['ann', 'bob']]])(
    promise('cli.keys-create', 'refuses the names %j'),
    async (names) => {
      const { stdout, stderr, code } = await run('keys', 'create', ...names);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^error: .+\n$/);
    },
  );
});
