import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './support/documents.js';

const PRELUDE = `
import { AgentHandler, message, QueryModule, type Query } from '../src/index.js';
class Paint { temperature = 1 }
class Other { title = '' }
class PaintHandler extends AgentHandler<Paint> {
  async *handle({ kwargs }: Query<Paint>) { yield message(kwargs.temperature.toFixed()); }
}
class AnyHandler extends AgentHandler {
  async *handle({ kwargs }: Query) { yield message(String(kwargs['title'])); }
}
`;

const ACCEPTED = [
  'QueryModule.forRoot({ handler: PaintHandler, kwargs: Paint })',
  'QueryModule.forRoot({ handler: new PaintHandler(), kwargs: Paint, runs: { timeoutMs: 1 } })',
  'QueryModule.forRoot({ handler: AnyHandler })',
  'QueryModule.forRoot({ async *handler({ kwargs }) { yield message(String(kwargs["title"])); } })',
  'QueryModule.forRoot({ async *handler({ kwargs }) { yield message(kwargs.temperature.toFixed()); }, kwargs: Paint })',
  'QueryModule.forRootAsync({ handler: PaintHandler, useFactory: () => ({ kwargs: Paint }) })',
];

const REFUSED = [
  'QueryModule.forRoot({ handler: PaintHandler })',
  'QueryModule.forRoot({ handler: PaintHandler, kwargs: Other })',
  'QueryModule.forRoot({ async *handler({ kwargs }) { yield message(kwargs.missing); }, kwargs: Paint })',
  'QueryModule.forRoot({ handler: AnyHandler, unknown: 1 })',
];

/** The lines of a source text that have an error of types, without the prelude. */
function linesWithErrors(lines: string[]): string[] {
  const name = join(ROOT, 'test/typed-kwargs.ts');
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2023.d.ts', 'lib.dom.asynciterable.d.ts'],
    strict: true,
    exactOptionalPropertyTypes: true,
    experimentalDecorators: true,
    skipLibCheck: true,
    types: ['node'],
    noEmit: true,
  };
  const host = ts.createCompilerHost(options);
  const getSourceFile = host.getSourceFile.bind(host);
  const fileExists = host.fileExists.bind(host);
  const source = ts.createSourceFile(name, PRELUDE + lines.join(';\n'), ts.ScriptTarget.ES2023);
  host.getSourceFile = (path, ...rest) => (path === name ? source : getSourceFile(path, ...rest));
  host.fileExists = (path) => path === name || fileExists(path);
  const program = ts.createProgram([name], options, host);
  const found = program.getSemanticDiagnostics(source).map(({ start }) => {
    const { line } = source.getLineAndCharacterOfPosition(start!);
    return lines[line - PRELUDE.split('\n').length + 1] ?? `line ${line} of the prelude`;
  });
  return [...new Set(found)];
}

describe('The types of kwargs', () => {
  it('refuse a handler whose kwargs are of another class, and nothing else', () => {
    expect(linesWithErrors([...ACCEPTED, ...REFUSED])).toEqual(REFUSED);
  });
});
