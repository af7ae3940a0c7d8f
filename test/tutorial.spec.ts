import { existsSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { read, ROOT, withoutTypes } from './support/documents.js';
import { freePort } from './support/free-port.mjs';
import { followTutorial } from './support/tutorial.mjs';

const packages = join(ROOT, 'node_modules');

describe('The tutorial', () => {
  let folder: string;
  let missing: string[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tutorial-'));
    missing = [];
  });

  afterEach(() => rm(folder, { recursive: true }));

  /** With the packages of the repository. `npm run hosts -- tutorial` installs packed ones. */
  async function follow(document: string): Promise<string[]> {
    const install = async (names: string[]) => {
      missing = names.filter((name) => !existsSync(join(packages, name)));
      await symlink(packages, join(folder, 'node_modules'));
    };
    const env = { PATH: process.env['PATH'], HOME: folder };
    return followTutorial({ folder, install, port: await freePort(), env, document });
  }

  it('has files that compile, and commands that print what it shows', async () => {
    const steps = await follow(withoutTypes(read('docs/tutorial.md'), ['start', 'test']));
    expect(steps).toEqual(expect.arrayContaining(['main.ts', 'npm start', 'npm test', 'Ctrl-C']));
    expect(missing).toEqual([]);
    // It waits for two compilations of the long form, and for an answer word by word.
  }, 180_000);

  it.each([
    ['another output', '```sh\necho one\n```\n\n```text\ntwo\n```\n', /echo one\n prints something else/],
    [
      'another id',
      '```sh\necho 0d9f6c2e-51b7-4c1e-8a35-6f0f2b7d1c44 6b1de3a7-2f0c-4d8e-9b57-3c2a90e1f8d2\n```\n\n' +
        '```text\n0d9f6c2e-51b7-4c1e-8a35-6f0f2b7d1c44 0d9f6c2e-51b7-4c1e-8a35-6f0f2b7d1c44\n```\n',
      /prints something else/,
    ],
    ['a command that fails', '```sh\nfalse\n```\n', /Command failed: sh -ec false/],
    ['a page that is not there', '<http://127.0.0.1:3000/playground>\n', /fetch failed/],
    ['a block of another kind', '```ts\nconst one = 1;\n```\n', /a block "ts": nobody knows/],
  ])('would fail with %s', async (_, document, reason) => {
    await expect(follow(document)).rejects.toThrow(reason);
  });
});
