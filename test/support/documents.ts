import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { IS_LONG } from './long-form.js';

export const ROOT = resolve(import.meta.dirname, '../..');

/** A fenced block of code in a document. */
export interface CodeBlock {
  language: string;
  /** The file name in the first line (`// app.module.ts`), or else one that is made of its number. */
  name: string;
  code: string;
}

/** The Markdown files that readers of the repository meet, relative to its root. */
export const DOCUMENTS = [
  '.',
  'docs',
  'examples/browser',
  'examples/front-end',
  'examples/nest-host',
  'examples/redis-store',
].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);

export function read(document: string): string {
  return readFileSync(join(ROOT, document), 'utf8');
}

/** The fenced blocks of code of a document, in their order. */
export function codeBlocks(document: string): CodeBlock[] {
  const fences = read(document).matchAll(/^(`{3,})(\w*)\n([^]*?)^\1$/gm);
  return [...fences].map(([, , language, code], index) => {
    const [, name = `block-${index + 1}.ts`] = /^\/\/ ([\w.-]+\.[tj]s)\n/.exec(code!) ?? [];
    return { language: language!, name, code: code! };
  });
}

/** The rows of the tables of a document: their cells, without the rows of headings and dashes. */
export function tableRows(document: string): { heading: string[]; cells: string[] }[] {
  const rows: { heading: string[]; cells: string[] }[] = [];
  let heading: string[] | undefined;
  for (const line of read(document).split('\n')) {
    const cells = line.startsWith('|') ? line.slice(1, -1).split('|') : [];
    if (cells.length === 0) heading = undefined;
    else if (!heading) heading = cells.map((cell) => cell.trim());
    else if (!/^[|\s:-]+$/.test(line)) rows.push({ heading, cells: cells.map((cell) => cell.trim()) });
  }
  return rows;
}

/** TypeScript as JavaScript that Nest's injection understands. Types are not checked. */
export function compiled(code: string): string {
  const module = ts.ModuleKind.ESNext;
  const target = ts.ScriptTarget.ES2022;
  const compilerOptions = { module, target, experimentalDecorators: true, emitDecoratorMetadata: true };
  return ts.transpileModule(code, { compilerOptions }).outputText;
}

/** The names of the members of some interfaces of a source file. */
export function membersOf(path: string, names: string[]): string[] {
  const source = ts.createSourceFile(path, read(path), ts.ScriptTarget.Latest);
  const interfaces = source.statements.filter(
    (statement): statement is ts.InterfaceDeclaration =>
      ts.isInterfaceDeclaration(statement) && names.includes(statement.name.text),
  );
  const members = interfaces.flatMap((declared) =>
    declared.members.map(({ name }) => (name as ts.Identifier).text),
  );
  return [...new Set(members)];
}

/**
 * Parameters that let `tsc` write JavaScript without reading the types of packages, which takes six times as long: types.spec.ts
 * checks all code of documents and applications in one program. The long form compiles each with its own settings.
 */
export const WITHOUT_TYPES = IS_LONG
  ? []
  : '--noCheck --noResolve --isolatedModules --lib es5 --types null'.split(' ');

/** A document that compiles its application with `tsc`, without types in some of its scripts. */
export function withoutTypes(document: string, scripts: ('start' | 'test')[]): string {
  return scripts.reduce((text, script) => {
    const compiles = `scripts.${script}='tsc &&`;
    if (!text.includes(compiles)) throw new Error(`The document has no ${compiles}`);
    return text.replace(compiles, `scripts.${script}='${['tsc', ...WITHOUT_TYPES].join(' ')} &&`);
  }, document);
}
