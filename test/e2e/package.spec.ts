import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../..');

const USE = `
import { QueryModule, message } from 'nest-agent-query';
async function* handler() { yield message('Hi'); }
const { controllers } = QueryModule.forRoot({ handler });
console.log(controllers?.length, JSON.stringify(message('Hi')));
`;

describe('The package', () => {
  let project: string;
  let packed: { filename: string; files: { path: string }[] };

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'package-'));
    const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', project];
    const { stdout } = await run('npm', pack, { cwd: ROOT });
    [packed] = JSON.parse(stdout) as [typeof packed];
    await writeFile(join(project, 'package.json'), '{"name":"user","private":true,"type":"module"}');
    const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${packed.filename}`];
    await run('npm', install, { cwd: project });
  }, 120_000);

  afterAll(() => rm(project, { recursive: true }));

  it('holds what a user needs and nothing else', () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'CHANGELOG.md', 'dist/index.js', 'dist/index.d.ts']),
    );
    const isExpected = /^(?:LICENSE|README\.md|CHANGELOG\.md|package\.json|dist\/[\w./-]+\.(?:js|d\.ts))$/;
    expect(paths.filter((path) => !isExpected.test(path) || path.includes('.spec.'))).toEqual([]);
  });

  it('is imported in JavaScript by a project that has installed it', async () => {
    await writeFile(join(project, 'use.js'), USE);
    const { stdout, stderr } = await run(process.execPath, ['use.js'], { cwd: project });
    expect(stderr).toBe('');
    expect(stdout).toBe('1 {"type":"message","data":{"content":"Hi"}}\n');
  });

  it('imports the built-in agent by a path of its own, which is loaded with none of its parsers', async () => {
    const use = `import { FilesHandler } from 'nest-agent-query/agents/files'; console.log(typeof FilesHandler);`;
    await writeFile(join(project, 'files.js'), use);
    const { stdout } = await run(process.execPath, ['files.js'], { cwd: project });
    expect(stdout).toBe('function\n');
  });

  it('is imported with its types', async () => {
    await writeFile(join(project, 'use.ts'), `${USE}\nconst wrong: number = message('Hi').data.content;\n`);
    await mkdir(join(project, 'node_modules/@types'), { recursive: true });
    await symlink(join(ROOT, 'node_modules/@types/node'), join(project, 'node_modules/@types/node'));
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
    const compiled = run(
      process.execPath,
      [join(ROOT, 'node_modules/typescript/bin/tsc'), ...options, 'use.ts'],
      {
        cwd: project,
      },
    );
    await expect(compiled).rejects.toMatchObject({
      stdout: "use.ts(7,7): error TS2322: Type 'string' is not assignable to type 'number'.\n",
    });
  });
});
