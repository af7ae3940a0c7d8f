import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { codeBlocks, compiled, DOCUMENTS, ROOT } from './support/documents.js';

const run = promisify(execFile);
/** Imports of frameworks that only `npm run adapters` installs, and of packages for these. */
const LATER = existsSync(join(ROOT, 'packages/node_modules'))
  ? undefined
  : /from '(?:nest-agent-query-(?:langgraph|mastra|openai-agents)|@ai-sdk\/react|@ag-ui\/client)'/;
const HANDLER = 'dictionary.handler.ts';
/** Applications that are checked with the documents, by the settings of this repository. The long form has their own settings. */
const APPLICATIONS = [
  'examples/nest-host/src',
  'packages/create/template/src',
  'packages/create/template-acp/src',
];

const PRELUDE = `
import { AgentHandler, message, QueryModule, type Query } from 'nest-agent-query';
class Paint { temperature = 1 }
class Other { title = '' }
class PaintHandler extends AgentHandler<Paint> {
  async *handle({ kwargs }: Query<Paint>) { yield message(kwargs.temperature.toFixed()); }
}
class AnyHandler extends AgentHandler {
  async *handle({ kwargs }: Query) { yield message(String(kwargs['title'])); }
}
import type { LanguageModel } from 'ai';
import { fromAiSdk } from 'nest-agent-query-ai-sdk';
declare const model: LanguageModel;
`.split('\n');

/** What is checked where the frameworks are installed. */
const PRELUDE_OF_FRAMEWORKS = `
import type { Agent } from '@openai/agents';
import { fromLangGraph, type CompiledGraph } from 'nest-agent-query-langgraph';
import { fromMastra, type MastraAgent } from 'nest-agent-query-mastra';
import { fromOpenAIAgents } from 'nest-agent-query-openai-agents';
declare const graph: CompiledGraph;
declare const mastra: MastraAgent;
declare const openai: Agent<{ tenant: string }, 'text'>;
`.split('\n');

const ACCEPTED = [
  'QueryModule.forRoot({ handler: PaintHandler, kwargs: Paint });',
  'QueryModule.forRoot({ handler: new PaintHandler(), kwargs: Paint, runs: { timeoutMs: 1 } });',
  'QueryModule.forRoot({ handler: AnyHandler });',
  'QueryModule.forRoot({ async *handler({ kwargs }) { yield message(String(kwargs["title"])); } });',
  'QueryModule.forRoot({ async *handler({ kwargs }) { yield message(kwargs.temperature.toFixed()); }, kwargs: Paint });',
  'QueryModule.forRootAsync({ handler: PaintHandler, useFactory: () => ({ kwargs: Paint }) });',
  'QueryModule.forRoot({ handler: fromAiSdk({ model }) });',
  'QueryModule.forRoot({ kwargs: Paint, handler: fromAiSdk<Paint>({ model }) });',
  'QueryModule.forRoot({ handler: fromAiSdk(({ kwargs }) => ({ model, temperature: Number(kwargs["t"]) })) });',
  'QueryModule.forRoot({ kwargs: Paint, handler: fromAiSdk<Paint>(({ kwargs }) => ({ model, temperature: kwargs.temperature })) });',
];

const ACCEPTED_OF_FRAMEWORKS = [
  'QueryModule.forRoot({ handler: fromLangGraph(graph, { config: ({ kwargs }) => ({ tags: [String(kwargs["title"])] }) }) });',
  'QueryModule.forRoot({ kwargs: Paint, handler: fromLangGraph<Paint>(graph, { config: ({ kwargs }) => ({ recursionLimit: kwargs.temperature }) }) });',
  'QueryModule.forRoot({ kwargs: Paint, handler: fromLangGraph<Paint>(graph, { input: (messages, { kwargs }) => ({ messages, t: kwargs.temperature.toFixed() }) }) });',
  'QueryModule.forRoot({ handler: fromMastra(mastra, { stream: ({ kwargs }) => ({ maxSteps: kwargs["steps"] }) }) });',
  'QueryModule.forRoot({ kwargs: Paint, handler: fromMastra<Paint>(mastra, { stream: ({ kwargs }) => ({ maxSteps: kwargs.temperature.valueOf() }) }) });',
  'QueryModule.forRoot({ handler: fromOpenAIAgents(openai, { context: ({ kwargs }) => ({ tenant: String(kwargs["tenant"]) }) }) });',
  'QueryModule.forRoot({ kwargs: Paint, handler: fromOpenAIAgents<Paint>(openai, { context: ({ kwargs }) => ({ tenant: kwargs.temperature.toFixed() }) }) });',
  'QueryModule.forRoot({ kwargs: Paint, handler: fromOpenAIAgents<Paint>(({ kwargs }) => (kwargs.temperature > 1 ? openai : openai)) });',
];

const REFUSED = [
  'QueryModule.forRoot({ handler: PaintHandler });',
  'QueryModule.forRoot({ handler: PaintHandler, kwargs: Other });',
  'QueryModule.forRoot({ async *handler({ kwargs }) { yield message(kwargs.missing); }, kwargs: Paint });',
  'QueryModule.forRoot({ handler: AnyHandler, unknown: 1 });',
  'QueryModule.forRoot({ kwargs: Other, handler: fromAiSdk<Paint>({ model }) });',
  'QueryModule.forRoot({ handler: fromAiSdk<Paint>({ model }) });',
  'fromAiSdk<Paint>(({ kwargs }) => ({ model, temperature: kwargs.missing }));',
];

const REFUSED_OF_FRAMEWORKS = [
  'fromLangGraph<Paint>(graph, { config: ({ kwargs }) => ({ recursionLimit: kwargs.missing }) });',
  'QueryModule.forRoot({ kwargs: Other, handler: fromLangGraph<Paint>(graph) });',
  'fromMastra<Paint>(mastra, { stream: ({ kwargs }) => ({ maxSteps: kwargs.missing }) });',
  'QueryModule.forRoot({ kwargs: Other, handler: fromMastra<Paint>(mastra) });',
  'fromOpenAIAgents<Paint>(openai, { context: ({ kwargs }) => ({ tenant: kwargs.missing }) });',
  'fromOpenAIAgents(openai, { context: () => ({ tenant: 1 }) });',
  'QueryModule.forRoot({ kwargs: Other, handler: fromOpenAIAgents<Paint>(openai) });',
];

const SOURCE = [...PRELUDE, ...ACCEPTED, ...REFUSED];
const SOURCE_OF_FRAMEWORKS = [...PRELUDE_OF_FRAMEWORKS, ...ACCEPTED_OF_FRAMEWORKS, ...REFUSED_OF_FRAMEWORKS];
const CHECKED = LATER ? SOURCE : [...SOURCE, ...SOURCE_OF_FRAMEWORKS];
const WRONG = LATER ? REFUSED : [...REFUSED, ...REFUSED_OF_FRAMEWORKS];

const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts', 'lib.dom.asynciterable.d.ts'],
  strict: true,
  exactOptionalPropertyTypes: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  skipLibCheck: true,
  types: ['node'],
  noEmit: true,
};

let directory: string;
let kwargs: string;
let diagnostics: readonly ts.Diagnostic[];

// One program has everything: what costs time is to read the types of the packages.
beforeAll(async () => {
  // Where the packages are found by their names, and the frameworks if they are installed, and where `npm run build` reads no
  // sources: each command that builds what has changed would build everything again, beside the tests that use it.
  directory = await mkdtemp(join(ROOT, LATER ? '' : 'packages/protocols/test', '.examples-'));
  kwargs = join(directory, 'kwargs.ts');
  await writeFile(kwargs, CHECKED.join('\n'));
  const files = [kwargs];
  for (const folder of APPLICATIONS)
    for (const name of await readdir(join(ROOT, folder))) files.push(join(ROOT, folder, name));
  for (const document of DOCUMENTS) {
    for (const { language, name, code } of codeBlocks(document)) {
      if (language !== 'ts' || LATER?.test(code)) continue;
      files.push(await put(document, name, code));
    }
  }
  // What the page about testing tests is the handler of another page.
  const handler = codeBlocks('docs/handlers.md').find(({ name }) => name === HANDLER)!;
  await put('docs/testing.md', HANDLER, handler.code);
  const host = ts.createCompilerHost(OPTIONS);
  // As tsc has it: without the docstrings of packages, which are a sixth of the time.
  host.jsDocParsingMode = ts.JSDocParsingMode.ParseForTypeErrors;
  const program = ts.createProgram(files, OPTIONS, host);
  diagnostics = ts.getPreEmitDiagnostics(program);
});

afterAll(() => rm(directory, { recursive: true }));

async function put(document: string, name: string, code: string): Promise<string> {
  const folder = join(directory, basename(document, '.md'));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), code);
  return join(folder, name);
}

/** The errors of types in the files of a folder. */
function errorsIn(folder: string): string[] {
  return diagnostics
    .filter(({ file }) => file?.fileName.startsWith(join(folder, '/')))
    .map(
      ({ file, messageText }) =>
        `${basename(file!.fileName)}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    );
}

describe('The TypeScript of the documents', () => {
  it.each(DOCUMENTS.filter((document) => codeBlocks(document).some(({ language }) => language === 'ts')))(
    'of %s has no error of types',
    (document) => {
      expect(errorsIn(join(directory, basename(document, '.md')))).toEqual([]);
    },
  );

  it('of docs/tutorial.md is checked with the settings that it writes', () => {
    const { code } = codeBlocks('docs/tutorial.md').find(({ language }) => language === 'json')!;
    const { config } = ts.parseConfigFileTextToJson('tsconfig.json', code) as {
      config: { compilerOptions: object };
    };
    const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT);
    const { rootDir: _root, outDir: _out, ...settings } = options;
    expect(OPTIONS).toMatchObject(settings);
  });

  it('of docs/testing.md passes as tests', async () => {
    const folder = join(directory, 'testing');
    const specs = codeBlocks('docs/testing.md').filter(({ name }) => name.endsWith('.spec.ts'));
    const imports = specs.map(({ name }) => `import './${name.replace(/\.ts$/, '.js')}';`);
    for (const name of await readdir(folder)) {
      const code = await readFile(join(folder, name), 'utf8');
      await writeFile(join(folder, name.replace(/\.ts$/, '.js')), compiled(code));
    }
    // A test that is started by a test would report to it.
    const env = { ...process.env };
    delete env['NODE_TEST_CONTEXT'];
    // One process has all, because it takes a second to load what they need.
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', imports.join('\n')], {
      cwd: folder,
      env,
    });
    expect(specs.length).toBeGreaterThan(1);
    expect(stdout).toMatch(new RegExp(`^(?:#|ℹ) pass ${specs.length}$`, 'm'));
  });
});

describe('The application in', () => {
  it.each(APPLICATIONS)('%s has no error of types', (folder) => {
    expect(errorsIn(join(ROOT, folder))).toEqual([]);
  });
});

describe('The types of kwargs', () => {
  it('refuse a handler or an adapter whose kwargs are of another class, and nothing else', () => {
    const wrong = diagnostics
      .filter(({ file }) => file?.fileName === kwargs)
      .map(({ file, start }) => CHECKED[file!.getLineAndCharacterOfPosition(start!).line]);
    expect([...new Set(wrong)]).toEqual(WRONG);
  });
});
