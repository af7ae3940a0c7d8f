import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { publint } from 'publint';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../..');

const USE = `
import { QueryModule, message } from 'nest-agent-query';
async function* handler() { yield message('Hi'); }
const { controllers } = QueryModule.forRoot({ handler });
console.log(controllers?.length, JSON.stringify(message('Hi')));
`;

const SUBPATHS = `
import { openStore } from 'nest-agent-query/stores'; import { FilesHandler } from 'nest-agent-query/agents/files';
import { openDispatcher } from 'nest-agent-query/workers'; import { ask } from 'nest-agent-query/testing';
import { AccessModule } from 'nest-agent-query/access'; import { commandHandler } from 'nest-agent-query/agents/command';
import { MetricsModule, QueryLog } from 'nest-agent-query/telemetry';
`;
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const ATTW = join(ROOT, 'node_modules/@arethetypeswrong/cli/dist/index.js');

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
    await mkdir(join(project, 'node_modules/@types'), { recursive: true });
    for (const name of ['@types/node', 'kysely'])
      await symlink(join(ROOT, 'node_modules', name), join(project, 'node_modules', name));
  }, 120_000);

  afterAll(() => rm(project, { recursive: true }));

  it('holds what a user needs and nothing else', () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'CHANGELOG.md', 'dist/index.js', 'dist/index.d.ts']),
    );
    const isExpected = /^(?:LICENSE|README\.md|CHANGELOG\.md|package\.json|dist\/[\w./-]+\.(?:js|d\.ts))$/;
    const ofThePage = /^dist\/playground\/page\/(?:index\.html|assets\/[\w-]+-[\w-]{8}\.(?:js|css|svg))$/;
    expect(paths.filter((path) => ofThePage.test(path)).length).toBeGreaterThan(3);
    expect(
      paths.filter((path) => !(isExpected.test(path) || ofThePage.test(path)) || path.includes('.spec.')),
    ).toEqual([]);
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

  it('imports the guards by a path of their own, which is loaded without the packages of tokens and limits', async () => {
    const use = `
      import 'reflect-metadata';
      import { NestFactory } from '@nestjs/core';
      import { AccessModule } from 'nest-agent-query/access';
      const module = AccessModule.forRoot({ jwt: { secret: 'x'.repeat(32) } });
      await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false }).catch((error) =>
        console.log(error.message),
      );`;
    await writeFile(join(project, 'access.js'), use);
    const { stdout } = await run(process.execPath, ['access.js'], { cwd: project });
    expect(stdout).toBe('JWT needs a package that is not installed. Run npm install jose.\n');
  });

  it('imports an adapter without its framework, and names the package that is missing', async () => {
    const use = `
      import { fromLangGraph } from 'nest-agent-query/agents/langgraph';
      import { collect, contextOf, queryOf } from 'nest-agent-query/testing';
      const handler = fromLangGraph({ stream: async () => [], getState: async () => ({ values: {}, next: [] }) });
      await collect(handler.handle(await queryOf('Hi'), await contextOf())).catch((error) => console.log(error.message));`;
    await writeFile(join(project, 'adapter.js'), use);
    const { stdout } = await run(process.execPath, ['adapter.js'], { cwd: project });
    expect(stdout).toBe(
      'The adapter for LangGraph needs the package @langchain/core. Run npm install @langchain/core.\n',
    );
  });

  it('has a client with types for browsers, which is smaller than 6 kB and loads one package', async () => {
    const use = `
      import { AgentQueryClient, AgentQueryError } from 'nest-agent-query-client';
      const client = new AgentQueryClient({ baseUrl: '/api', headers: new Headers() });
      export async function show(file: File): Promise<void> {
        for await (const envelope of client.ask('x', { files: [file] }))
          if (envelope.type === 'message') document.title = envelope.data.content;
      }
      export const wrong: number = new AgentQueryError('cancelled', '').message;
`;
    await writeFile(join(project, 'page.ts'), use);
    await writeFile(
      join(project, 'tsconfig.page.json'),
      JSON.stringify({
        compilerOptions: {
          ...{ noEmit: true, strict: true, target: 'es2022', lib: ['es2022', 'dom'], types: [] },
          ...{ module: 'esnext', moduleResolution: 'bundler' },
        },
        files: ['page.ts'],
      }),
    );
    await expect(
      run(process.execPath, [TSC, '-p', 'tsconfig.page.json'], { cwd: project }),
    ).rejects.toMatchObject({
      stdout: "page.ts(8,20): error TS2322: Type 'string' is not assignable to type 'number'.\n",
    });
    const bundle = `
      import { build, minify } from 'vite';
      const lib = { entry: ${JSON.stringify(join(project, 'node_modules/nest-agent-query-client/dist/index.js'))}, formats: ['es'] };
      const rollupOptions = { external: ['eventsource-parser'] };
      const [{ output }] = await build({ logLevel: 'silent', configFile: false, build: { write: false, lib, rollupOptions } });
      const { code } = await minify('client.js', output[0].code);
      console.log(JSON.stringify({ code, imports: output[0].imports }));`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', bundle], { cwd: ROOT });
    const { code, imports } = JSON.parse(stdout) as { code: string; imports: string[] };
    expect(imports).toEqual(['eventsource-parser']);
    expect(gzipSync(code).length).toBeLessThan(6_000);
  });

  it('has a command', async () => {
    const { stdout } = await run(join(project, 'node_modules/.bin/nest-agent-query'), [
      'keys',
      'create',
      'ann',
    ]);
    expect(stdout).toMatch(/^API_KEYS=ann:[0-9a-f]{64}$/m);
  });

  // All declarations are checked once, because that takes long.
  it.each([
    ['nodenext, with all declarations', 'use.ts', '--module nodenext'],
    ['nodenext, by CommonJS', 'use.cts', '--module nodenext --skipLibCheck'],
    ['node16', 'use.ts', '--module node16 --skipLibCheck'],
    ['bundler', 'use.ts', '--module esnext --moduleResolution bundler --skipLibCheck'],
    [
      'node10',
      'use.ts',
      '--module commonjs --moduleResolution node10 --ignoreDeprecations 6.0 --skipLibCheck',
    ],
  ])(
    'is imported with its types: %s',
    async (_, file, settings) => {
      await writeFile(
        join(project, file),
        `${USE}${SUBPATHS}const wrong: number = message('Hi').data.content;\n`,
      );
      const options = `--noEmit --strict --target es2022 --types node ${settings}`.split(' ');
      const compiled = run(process.execPath, [TSC, ...options, file], { cwd: project });
      await expect(compiled).rejects.toMatchObject({
        stdout: `${file}(11,7): error TS2322: Type 'string' is not assignable to type 'number'.\n`,
      });
    },
    120_000,
  );

  it('has nothing that publint warns of', async () => {
    const { messages } = await publint({
      pkgDir: join(project, 'node_modules/nest-agent-query'),
      pack: false,
      strict: true,
    });
    expect(messages).toEqual([]);
  });

  it('has types that resolve in every mode', async () => {
    // Node 20.19 and newer load an ES module by `require` too.
    const check = [ATTW, packed.filename, '--ignore-rules', 'cjs-resolves-to-esm', '--format', 'json'];
    const { stdout } = await run(process.execPath, check, { cwd: project });
    const { analysis } = JSON.parse(stdout) as { analysis: { entrypoints: Record<string, object> } };
    expect(Object.keys(analysis.entrypoints).sort()).toEqual([
      '.',
      './access',
      './agents/ai-sdk',
      './agents/command',
      './agents/diagnostic',
      './agents/files',
      './agents/langgraph',
      './agents/mastra',
      './agents/model',
      './agents/openai-agents',
      './agents/remote',
      './openapi',
      './package.json',
      './playground',
      './stores',
      './telemetry',
      './testing',
      './workers',
    ]);
  });
});
