import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './support/documents.js';

const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };

describe('npm run pack:all', () => {
  let directory: string;
  beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'packed-'))));
  afterEach(() => rm(directory, { recursive: true }));

  function pack(...parameters: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    return new Promise((ended) => {
      execFile(process.execPath, [join(ROOT, 'build/pack.mjs'), ...parameters], (error, stdout, stderr) =>
        ended({ code: (error?.code as number | undefined) ?? 0, stdout, stderr }),
      );
    });
  }

  it('packs a package with those that it needs, and without scripts of which npm warns', async () => {
    const { code, stdout } = await pack(directory, 'nest-agent-query');
    expect([code, stdout.trimEnd().split('\n').at(-1)]).toEqual([0, `5 packages are in ${directory}`]);
    const own = ['', '-cli', '-client', '-doctor', '-modules'].map((end) => `nest-agent-query${end}`);
    const files = own.map((name) => `${name}-${version}.tgz`);
    expect((await readdir(directory)).sort()).toEqual([...files, 'packed.json'].sort());
    const packed = JSON.parse(await readFile(join(directory, 'packed.json'), 'utf8')) as object;
    expect(packed).toMatchObject({
      'nest-agent-query': { file: files[0], needs: [own[1], own[2], own[4]] },
      'nest-agent-query-doctor': { file: files[3], needs: [own[2]] },
    });
    for (const file of files) {
      const text = execFileSync('tar', ['-xzOf', join(directory, file), 'package/package.json'], {
        encoding: 'utf8',
      });
      const { scripts = {} } = JSON.parse(text) as { scripts?: Record<string, string> };
      for (const name of ['preinstall', 'install', 'postinstall', 'prepare'])
        expect([file, name, scripts[name]]).toEqual([file, name, undefined]);
    }
  });

  it('says which packages there are where a name is wrong, and what is missing', async () => {
    const { code, stdout, stderr } = await pack(directory, 'nest-agent-quary');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /^There is no package nest-agent-quary\. These are: nest-agent-query-client, .+\.\n$/,
    );
    const absent = 'Name a folder for the packages: npm run pack:all -- ../packed\n';
    expect(await pack()).toEqual({ code: 2, stdout: '', stderr: absent });
    expect(await readdir(directory)).toEqual([]);
  });
});
