import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import process from 'node:process';
import { inspect } from 'node:util';
import { ModuleFailure } from './module-failure.js';
import { isOfProgram, type ModuleProgram } from './module-program.js';
import { type SyntaxFault, syntaxFaultOf } from './syntax-fault.js';

/** What the author sees of the stack of an exception. */
const MAX_FRAMES = 5;

const TYPESCRIPT = /\.[cm]?tsx?$/;

/**
 * Makes what an import has thrown a failure for the author of the module.
 *
 * @param path of the module that was imported
 */
export async function explainFailure(
  thrown: unknown,
  path: string,
  program: ModuleProgram,
): Promise<ModuleFailure> {
  const [reason, sentence] = await explained(thrown, path, program);
  return new ModuleFailure(reason, sentence, { cause: thrown });
}

async function explained(
  thrown: unknown,
  path: string,
  program: ModuleProgram,
): Promise<[ModuleFailure['reason'], string]> {
  if (!(thrown instanceof Error)) return ['exception', `It throws while it is loaded: ${inspect(thrown)}`];
  const { name, code, message } = thrown as NodeJS.ErrnoException;
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION') return ['dependency', unknownExtension(message, path, program)];
  const notFound = notFoundIn(code, message);
  if (notFound) return ['dependency', notFound];
  const fault = await syntaxFaultOf(thrown, path);
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
    return ['dependency', `${message}.${placeOf(fault)}\n${howToRun(path, program)}`];
  if (fault) {
    const source = fault.source ?? (await lineOf(fault));
    return ['syntax', `Syntax error: ${fault.message}${placeOf({ ...fault, source })}`];
  }
  if (thrown instanceof SyntaxError) return ['syntax', `Syntax error: ${message}`];
  return ['exception', `It throws while it is loaded: ${name}: ${message}${framesOf(thrown, program)}`];
}

/** A module awaits something at its top level that never comes, and nothing else keeps the process alive. */
export function neverLoaded(): ModuleFailure {
  return new ModuleFailure(
    'exception',
    'It is never loaded: its top level awaits a promise that nothing settles.',
  );
}

function unknownExtension(message: string, path: string, program: ModuleProgram): string {
  const file = /for (.+)$/.exec(message)?.[1] ?? path;
  if (TYPESCRIPT.test(file))
    return `Node ${process.versions.node} cannot execute ${file}.\n${howToRun(path, program)}`;
  return (
    `Node cannot execute ${file}: the extension "${extname(file)}" is not that of a module. ` +
    program.otherLanguage
  );
}

/** The command that executes TypeScript on any version of Node. */
function howToRun(path: string, program: ModuleProgram): string {
  return (
    'Node 22.18 and newer execute TypeScript whose types can be removed, in files .ts, .mts and .cts. For any other, run ' +
    `npm install tsx, and then: ${program.commandFor(path, '--import tsx')}`
  );
}

function notFoundIn(code: string | undefined, message: string): string | undefined {
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return undefined;
  const [, name = '', importer] =
    /^Cannot find (?:package|module) '(.+?)'(?: imported from (\S.*)|\nRequire stack:\n- (.+))?/.exec(
      message,
    ) ?? [];
  const [, required] = /Require stack:\n- (.+)/.exec(message) ?? [];
  const from = withoutQuery(importer ?? required ?? 'It');
  if (!/^(\.|\/|file:|[A-Za-z]:\\)/.test(name)) {
    const [, packageName = name] = /^((?:@[^/]+\/)?[^/]+)/.exec(name) ?? [];
    return `${from} imports the package "${packageName}", which is not installed. Run npm install ${packageName}`;
  }
  const [, meant] = /Did you mean to import "(.+?)"/.exec(message) ?? [];
  const hint = meant === undefined ? '' : ` Did you mean ${JSON.stringify(meant)}?`;
  return `${from} imports ${withoutQuery(name)}, and there is no such file.${hint}`;
}

function placeOf(fault: SyntaxFault | undefined): string {
  if (!fault) return '';
  const { path, line, column, source } = fault;
  const place = `\n${path}:${line}:${column}`;
  if (source === undefined) return place;
  const indent = source.slice(0, column - 1).replace(/[^\t]/g, ' ');
  return `${place}\n${source}\n${indent}^`;
}

async function lineOf({ path, line }: SyntaxFault): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.split('\n')[line - 1];
}

/** The lines of a stack that are of the author's files, and not of Node or of the program. */
function framesOf({ stack = '' }: Error, program: ModuleProgram): string {
  const frames = stack
    .split('\n')
    .filter((line) => /^ +at /.test(line) && /file:|[/\\]/.test(line))
    .filter((line) => !line.includes('node:') && !isOfProgram(line, program));
  return frames
    .slice(0, MAX_FRAMES)
    .map((line) => `\n${withoutQuery(line)}`)
    .join('');
}

/** Without the number that a reload gives to a version of a file. */
function withoutQuery(text: string): string {
  return text.replace(/\?agent-version=\d+/, '');
}
