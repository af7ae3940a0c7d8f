import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { codeBlocks, compiled, DOCUMENTS, ROOT } from './support/documents.js';

const run = promisify(execFile);
/** Imports of packages whose frameworks only `npm run adapters` installs. */
const LATER = existsSync(join(ROOT, 'packages/node_modules'))
  ? undefined
  : /from 'nest-agent-query-(?:langgraph|mastra|openai-agents)'/;
const HANDLER = 'dictionary.handler.ts';

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
`.split('\n');

const ACCEPTED = [
  'QueryModule.forRoot({ handler: PaintHandler, kwargs: Paint });',
  'QueryModule.forRoot({ handler: new PaintHandler(), kwargs: Paint, runs: { timeoutMs: 1 } });',
  'QueryModule.forRoot({ handler: AnyHandler });',
  'QueryModule.forRoot({ async *handler({ kwargs }) { yield message(String(kwargs["title"])); } });',
  'QueryModule.forRoot({ async *handler({ kwargs }) { yield message(kwargs.temperature.toFixed()); }, kwargs: Paint });',
  'QueryModule.forRootAsync({ handler: PaintHandler, useFactory: () => ({ kwargs: Paint }) });',
];

const REFUSED = [
  'QueryModule.forRoot({ handler: PaintHandler });',
  'QueryModule.forRoot({ handler: PaintHandler, kwargs: Other });',
  'QueryModule.forRoot({ async *handler({ kwargs }) { yield message(kwargs.missing); }, kwargs: Paint });',
  'QueryModule.forRoot({ handler: AnyHandler, unknown: 1 });',
];

let directory: string;
let kwargs: string;
let diagnostics: readonly ts.Diagnostic[];

// One program has everything: what costs time is to read the types of the packages.
beforeAll(async () => {
  // Where the package finds itself by its name, and the frameworks if they are installed.
  directory = await mkdtemp(join(ROOT, LATER ? '' : 'packages', '.examples-'));
  kwargs = join(directory, 'kwargs.ts');
  await writeFile(kwargs, [...PRELUDE, ...ACCEPTED, ...REFUSED].join('\n'));
  const files = [kwargs];
  for (const document of DOCUMENTS) {
    for (const { language, name, code } of codeBlocks(document)) {
      if (language !== 'ts' || LATER?.test(code)) continue;
      files.push(await put(document, name, code));
    }
  }
  // What the page about testing tests is the handler of another page.
  const handler = codeBlocks('docs/handlers.md').find(({ name }) => name === HANDLER)!;
  await put('docs/testing.md', HANDLER, handler.code);
  const program = ts.createProgram(files, {
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
  });
  diagnostics = ts.getPreEmitDiagnostics(program);
});

afterAll(() => rm(directory, { recursive: true }));

async function put(document: string, name: string, code: string): Promise<string> {
  const folder = join(directory, basename(document, '.md'));
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), code);
  await writeFile(join(folder, name.replace(/\.ts$/, '.js')), compiled(code));
  return join(folder, name);
}

describe('The TypeScript of the documents', () => {
  it.each(DOCUMENTS.filter((document) => codeBlocks(document).some(({ language }) => language === 'ts')))(
    'of %s has no error of types',
    (document) => {
      const folder = join(directory, basename(document, '.md'), '/');
      const errors = diagnostics
        .filter(({ file }) => file?.fileName.startsWith(folder))
        .map(
          ({ file, messageText }) =>
            `${basename(file!.fileName)}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
        );
      expect(errors).toEqual([]);
    },
  );

  it.each(
    codeBlocks('docs/testing.md')
      .map(({ name }) => name)
      .filter((name) => name.endsWith('.spec.ts')),
  )('of docs/testing.md passes as a test: %s', async (name) => {
    // A test that is started by a test would report to it.
    const env = { ...process.env };
    delete env['NODE_TEST_CONTEXT'];
    const { stdout } = await run(process.execPath, [name.replace(/\.ts$/, '.js')], {
      cwd: join(directory, 'testing'),
      env,
    });
    expect(stdout).toMatch(/^(?:#|ℹ) pass 1$/m);
  });
});

describe('The types of kwargs', () => {
  it('refuse a handler whose kwargs are of another class, and nothing else', () => {
    const source = [...PRELUDE, ...ACCEPTED, ...REFUSED];
    const wrong = diagnostics
      .filter(({ file }) => file?.fileName === kwargs)
      .map(({ file, start }) => source[file!.getLineAndCharacterOfPosition(start!).line]);
    expect([...new Set(wrong)]).toEqual(REFUSED);
  });
});
