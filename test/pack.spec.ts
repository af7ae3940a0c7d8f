import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { read, ROOT } from './support/documents.js';

const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

function pack(...parameters: string[]): Promise<Ended> {
  return new Promise((ended) => {
    execFile(process.execPath, [join(ROOT, 'build/pack.mjs'), ...parameters], (error, stdout, stderr) =>
      ended({ code: (error?.code as number | undefined) ?? 0, stdout, stderr }),
    );
  });
}

/** The core and those that it needs. */
const CORE = ['', '-cli', '-client', '-doctor', '-modules'].map((end) => `nest-agent-query${end}`);
const tarballOf = (name: string) => `${name}-${version}.tgz`;

let directory: string;
let ended: Ended;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'packed-'));
  ended = await pack(directory, 'nest-agent-query');
});
afterAll(() => rm(directory, { recursive: true }));

describe('npm run pack:all', () => {
  it('packs a package with those that it needs, and without scripts of which npm warns', async () => {
    const { code, stdout } = ended;
    expect([code, stdout.trimEnd().split('\n').at(-1)]).toEqual([0, `5 packages are in ${directory}`]);
    const files = CORE.map(tarballOf);
    expect((await readdir(directory)).sort()).toEqual([...files, 'packed.json'].sort());
    const packed = JSON.parse(await readFile(join(directory, 'packed.json'), 'utf8')) as object;
    expect(packed).toMatchObject({
      'nest-agent-query': { file: files[0], needs: [CORE[1], CORE[2], CORE[4]] },
      'nest-agent-query-doctor': { file: files[3], needs: [CORE[2]] },
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
    const unused = join(directory, 'unused');
    const { code, stdout, stderr } = await pack(unused, 'nest-agent-quary');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /^There is no package nest-agent-quary\. These are: nest-agent-query-client, .+\.\n$/,
    );
    const absent = 'Name a folder for the packages: npm run pack:all -- ../packed\n';
    expect(await pack()).toEqual({ code: 2, stdout: '', stderr: absent });
    expect(existsSync(unused)).toBe(false);
  });
});

/** A package as npm packs it: its files have paths in the tarball. */
interface Packed {
  name: string;
  files: { path: string }[];
}

/** The files of a package that is packed above. To pack the core takes as long as to pack all others. */
function packedAbove(name: string): Packed {
  const list = execFileSync('tar', ['-tzf', join(directory, tarballOf(name))], { encoding: 'utf8' });
  const paths = list.trimEnd().split('\n');
  return { name, files: paths.map((path) => ({ path: path.replace('package/', '') })) };
}

describe('The packed packages', () => {
  const folders = ['.', ...readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}`)].filter(
    (folder) => existsSync(join(ROOT, folder, 'package.json')),
  );
  const manifests = folders.map(
    (folder) => JSON.parse(read(join(folder, 'package.json'))) as { name: string },
  );
  const folderOf = (name: string) => folders[manifests.findIndex((manifest) => manifest.name === name)]!;
  let packed: Packed[];

  beforeAll(() => {
    const others = folders.filter((_, index) => !CORE.includes(manifests[index]!.name));
    const parameters = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const output = execFileSync('npm', [...parameters, ...others.map((folder) => `./${folder}`)], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    packed = [...CORE.map(packedAbove), ...(JSON.parse(output.toString()) as Packed[])];
  });

  it('have documents whose links lead to files of the same package', () => {
    const broken = packed.flatMap(({ name, files }) =>
      files
        .filter(({ path }) => path.endsWith('.md'))
        .flatMap(({ path }) =>
          linksOf(read(join(folderOf(name), path)))
            .filter((link) => !isPacked(packed, name, normalize(join(dirname(path), link))))
            .map((link) => `${name}: ${path}: ${link}`),
        ),
    );
    expect(packed.length).toBeGreaterThan(5);
    expect(broken).toEqual([]);
  });

  it('have nothing that is installed or built for an example', () => {
    const paths = packed.flatMap(({ files }) => files.map(({ path }) => path));
    expect(paths.filter((path) => /^examples\/.*\/(?:node_modules|dist)\//.test(path))).toEqual([]);
    expect(paths).toContain('examples/front-end/src/chat.tsx');
  });

  it('have pictures of less than 150 kB in all', () => {
    const paths = packed[0]!.files.map(({ path }) => path);
    const pictures = paths.filter((path) => /^docs\/.*\.(?:webp|png)$/.test(path)).sort();
    expect(pictures).toEqual(['docs/page.webp', 'docs/resumed.webp']);
    const sizes = pictures.map((path) => statSync(join(ROOT, path)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000);
  });

  it('name no repository and no page on the web, as there is none', () => {
    for (const manifest of manifests)
      for (const member of ['repository', 'homepage', 'bugs']) expect(manifest).not.toHaveProperty(member);
  });
});

/** The relative links of a document, without their anchors. */
function linksOf(text: string): string[] {
  const links = text.replace(/^(`{3,})\w*\n[^]*?^\1$/gm, '').matchAll(/\]\((?!\w+:|#)([^)\s#]+)/g);
  return [...links].map(([, link]) => link!);
}

/** Whether a package has this file or folder. The document of a template links to packages that are installed beside it. */
function isPacked(packed: Packed[], name: string, path: string): boolean {
  const [, installed, inside] = /(?:^|\/)node_modules\/([\w-]+)\/(.+)$/.exec(path) ?? [];
  const { files } = packed.find((each) => each.name === (installed ?? name))!;
  const wanted = (inside ?? path).replace(/\/$/, '');
  return files.some((file) => file.path === wanted || file.path.startsWith(`${wanted}/`));
}
