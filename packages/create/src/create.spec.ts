import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../../../test/support/documents.js';
import { itInLongForm } from '../../../test/support/long-form.js';

const COMMAND = join(ROOT, 'packages/create/dist/main.js');
const TEMPLATE = join(ROOT, 'packages/create/template');

/** What the command writes, in the order of their names. */
const FILES = [
  '.dockerignore',
  '.env.example',
  '.gitignore',
  'Dockerfile',
  'README.md',
  'docker-compose.yml',
  'exec.cmd',
  'nest-cli.json',
  'package.json',
  'src/app.module.ts',
  'src/main.ts',
  'src/model.ts',
  'src/order-agent.ts',
  'src/orders.ts',
  'src/scripted-model.ts',
  'test/order-agent.spec.ts',
  'tsconfig.build.json',
  'tsconfig.json',
  'vitest.config.ts',
];

interface Manifest {
  name: string;
  version: string;
  dependencies: Record<string, string>;
}

let directory: string;
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'create-'))));
afterEach(() => rm(directory, { recursive: true }));

/** Executes the command as npm does, in the directory of the test, without a terminal. */
function create(...parameters: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((ended) => {
    execFile(process.execPath, [COMMAND, ...parameters], { cwd: directory }, (error, stdout, stderr) =>
      ended({ code: (error?.code as number | undefined) ?? 0, stdout, stderr }),
    );
  });
}

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(join(directory, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files
    .map(({ parentPath, name }) => join(parentPath, name).slice(join(directory, folder).length + 1))
    .sort();
}

async function manifestAt(path: string): Promise<Manifest> {
  return JSON.parse(await readFile(path, 'utf8')) as Manifest;
}

describe('npm create nest-agent-query', () => {
  it('writes an application into a new folder, and says what to type next', async () => {
    const { code, stdout } = await create('apps/My Agent');
    expect([code, stdout]).toEqual([
      0,
      `my-agent is ready: a NestJS application with an agent behind POST /query. Type next:

  cd 'apps/My Agent'
  npm install
  npm test
  npm start

Then open http://127.0.0.1:3000/playground. It needs no key: README.md says how a model answers.
`,
    ]);
    expect(await filesOf('apps/My Agent')).toEqual(FILES);
    expect((await manifestAt(join(directory, 'apps/My Agent/package.json'))).name).toBe('my-agent');
  });

  it('writes every file as the template has it, but for the name', async () => {
    await create('app', '--name', '@shop/orders');
    for (const file of FILES) {
      const written = await readFile(join(directory, 'app', file), 'utf8');
      const original = await readFile(join(TEMPLATE, file.replace('.gitignore', 'gitignore')), 'utf8');
      expect(written).toBe(original.replace('"name": "agent"', '"name": "@shop/orders"'));
    }
  });

  it('writes an application with a coding agent where it is asked for', async () => {
    const { code, stdout } = await create('app', '--agent', 'acp');
    expect([code, stdout]).toEqual([0, expect.stringContaining('says how a coding agent answers.')]);
    const own = ['coding-agent.ts', 'order-agent.ts', 'orders.ts', 'model.ts', 'scripted-model.ts'];
    const others = FILES.filter((file) => !own.includes(file.replace('src/', '')));
    const expected = ['scripted-agent.mjs', 'src/coding-agent.ts', 'test/coding-agent.spec.ts', ...others];
    expect(await filesOf('app')).toEqual(
      expected.filter((file) => file !== 'test/order-agent.spec.ts').sort(),
    );
    const [agent, model] = await Promise.all([
      manifestAt(join(directory, 'app/package.json')),
      manifestAt(join(TEMPLATE, 'package.json')),
    ]);
    const without = ({ name: _, ...rest }: Manifest) => ({ ...rest, dependencies: {}, devDependencies: {} });
    expect(without(agent)).toEqual(without(model));
    const added = Object.entries(agent.dependencies).filter(([name]) => !(name in model.dependencies));
    expect(added).toEqual([
      ['nest-agent-query-acp', `^${(await manifestAt(join(ROOT, 'package.json'))).version}`],
    ]);
  });

  it('writes into the current folder where none is named, also beside a .git', async () => {
    await mkdir(join(directory, '.git'));
    const { code, stdout } = await create('--name', 'shop');
    expect(code).toBe(0);
    expect(stdout).not.toContain('  cd ');
    expect(await filesOf('.')).toEqual(FILES);
  });

  it('depends on packed packages, and on those that they need, where a folder of them is named', async () => {
    const needs = {
      'nest-agent-query': ['nest-agent-query-client'],
      'nest-agent-query-ai-sdk': ['nest-agent-query'],
      'nest-agent-query-client': [],
      'nest-agent-query-files': ['nest-agent-query'],
    };
    const entries = Object.entries(needs).map(([name, others]) => [
      name,
      { file: `${name}-1.tgz`, needs: others },
    ]);
    await mkdir(join(directory, 'packed'));
    await writeFile(join(directory, 'packed/packed.json'), JSON.stringify(Object.fromEntries(entries)));
    expect(await create('apps/app', '--packed', 'packed')).toMatchObject({ code: 0, stderr: '' });
    const { dependencies } = await manifestAt(join(directory, 'apps/app/package.json'));
    const own = Object.entries(dependencies).filter(([name]) => name.startsWith('nest-agent-query'));
    expect(own).toEqual([
      ['nest-agent-query', 'file:../../packed/nest-agent-query-1.tgz'],
      ['nest-agent-query-ai-sdk', 'file:../../packed/nest-agent-query-ai-sdk-1.tgz'],
      ['nest-agent-query-client', 'file:../../packed/nest-agent-query-client-1.tgz'],
    ]);
    expect(Object.keys(dependencies)).toContain('@nestjs/core');
  });

  it('refuses a folder without packed packages, or without one that is needed, and writes nothing', async () => {
    const how = 'In a clone of nest-agent-query, execute: npm run pack:all -- packed\n';
    const absent = `The folder packed has no list of packages, packed.json. ${how}`;
    expect(await create('app', '--packed', 'packed')).toEqual({ code: 1, stdout: '', stderr: absent });
    await mkdir(join(directory, 'packed'));
    await writeFile(join(directory, 'packed/packed.json'), '{}');
    const missing = `The folder packed has no package nest-agent-query. ${how}`;
    expect(await create('app', '--packed', 'packed')).toEqual({ code: 1, stdout: '', stderr: missing });
    expect(await readdir(directory)).toEqual(['packed']);
  });

  it('refuses a command line that is wrong, and writes nothing', async () => {
    const stderr = "Unknown option '--nam'. See --help.\n";
    expect(await create('a', '--nam', 'b')).toEqual({ code: 2, stdout: '', stderr });
    expect(await readdir(directory)).toEqual([]);
  });

  it('refuses a folder that is not empty, and leaves it as it was', async () => {
    await create('app');
    await writeFile(join(directory, 'app/README.md'), 'Mine');
    const { code, stderr } = await create('app');
    expect([code, stderr]).toEqual([
      1,
      'The folder app is not empty: it has .dockerignore, .env.example, .gitignore and 11 more. Name one that is new or empty.\n',
    ]);
    expect(await readFile(join(directory, 'app/README.md'), 'utf8')).toBe('Mine');
  });

  it.each(['file', 'file/app'])('refuses the folder %s where "file" is a file', async (folder) => {
    await writeFile(join(directory, 'file'), 'Mine');
    const stderr = `Nothing was written to ${folder}: it, or what it is in, is a file. Choose another folder.\n`;
    expect(await create(folder)).toEqual({ code: 1, stdout: '', stderr });
    expect(await readFile(join(directory, 'file'), 'utf8')).toBe('Mine');
  });

  it('writes an application once where several commands write it at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 4 }, () => create('app')));
    expect(all.map(({ code }) => code).sort()).toEqual([0, 1, 1, 1]);
    expect(await filesOf('app')).toEqual(FILES);
  });

  it('removes what it has written where it cannot write the rest', async () => {
    // The longest path of Linux has 4,095 characters, that of others fewer: the first file fits, and another one does not.
    const longest = process.platform === 'linux' ? 4095 : 1023;
    let folder = directory;
    while (folder.length < longest - 215) folder += `/${'d'.repeat(200)}`;
    folder += `/${'d'.repeat(longest - folder.length - '/.dockerignore'.length - 1)}`;
    const { code, stderr } = await create(folder);
    expect([code, stderr]).toEqual([
      1,
      `Nothing was written to ${folder}: its name is too long. Choose a shorter one.\n`,
    ]);
    expect(await readdir(folder)).toEqual([]);
  });

  it('shows how it is used with --help', async () => {
    const { code, stdout } = await create('--help', 'a');
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^Usage: npm create nest-agent-query \[folder\]/),
    ]);
    expect(await readdir(directory)).toEqual([]);
  });
});

describe('The template', () => {
  // In the short form, test/types.spec.ts has both templates in the program of the documents, with the settings of this repository.
  itInLongForm('has no error of types', async () => {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const parameters = [
      tsc,
      '-p',
      join(TEMPLATE, 'tsconfig.build.json'),
      '--noEmit',
      '--incremental',
      'false',
    ];
    const output = await new Promise((ended) => {
      execFile(process.execPath, parameters, (_, stdout) => ended(stdout));
    });
    expect(output).toBe('');
  });

  itInLongForm('has no error of types with a coding agent', async () => {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const options =
      '--ignoreConfig --noEmit --strict --skipLibCheck --noUncheckedIndexedAccess --experimentalDecorators';
    const modules = '--module nodenext --target ES2023 --types node src/app.module.ts src/coding-agent.ts';
    const parameters = [tsc, ...options.split(' '), ...modules.split(' ')];
    const output = await new Promise((ended) => {
      execFile(process.execPath, parameters, { cwd: `${TEMPLATE}-acp` }, (_, stdout) => ended(stdout));
    });
    expect(output).toBe('');
  });

  it('depends on the packages of this version', async () => {
    const { version } = await manifestAt(join(ROOT, 'package.json'));
    const { dependencies } = await manifestAt(join(TEMPLATE, 'package.json'));
    const own = Object.entries(dependencies).filter(([name]) => name.startsWith('nest-agent-query'));
    expect(own).toEqual([
      ['nest-agent-query', `^${version}`],
      ['nest-agent-query-ai-sdk', `^${version}`],
    ]);
  });

  it.each(['', '-acp'])(
    'has a Compose file whose variables .env.example has, and that keeps the data: %s',
    async (kind) => {
      const text = await readFile(join(TEMPLATE + kind, 'docker-compose.yml'), 'utf8');
      const { services } = parse(text) as {
        services: { agent: { environment: Record<string, string>; volumes: string[]; ports: string[] } };
      };
      const example = await readFile(join(TEMPLATE + kind, '.env.example'), 'utf8');
      const variables = Object.keys(services.agent.environment);
      expect(variables.length).toBeGreaterThan(0);
      for (const name of variables) expect(example).toMatch(new RegExp(`^# ${name}=`, 'm'));
      expect(services.agent.volumes).toEqual(['data:/app/data']);
      expect(services.agent.ports).toEqual(['127.0.0.1:3000:3000']);
    },
  );
});
