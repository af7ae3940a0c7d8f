import { existsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Workspace } from './workspace.js';

async function* pieces(...all: string[]): AsyncGenerator<string> {
  yield* all;
}

describe('Workspace', () => {
  it('has files that only this user can read, and removes them', async () => {
    const directory = join(tmpdir(), `nest-agent-query-workspace-${process.pid}`);
    const workspace = new Workspace(directory);
    await workspace.clear();
    expect(existsSync(directory)).toBe(false);
    const first = await workspace.write(pieces('one ', 'text'));
    const second = await workspace.write(pieces());
    expect(await readFile(first, 'utf8')).toBe('one text');
    expect(await readFile(second, 'utf8')).toBe('');
    expect([directory, first].map((path) => (statSync(path).mode & 0o777).toString(8))).toEqual([
      '700',
      '600',
    ]);
    await workspace.clear();
    expect(existsSync(directory)).toBe(false);
    await workspace.clear();
  });
});
