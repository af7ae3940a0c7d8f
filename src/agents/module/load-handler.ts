import { isAbsolute, join, relative } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { types } from 'node:util';
import { type Exports, loadModule, ModuleFailure, type ModuleUse } from 'nest-agent-query-modules';
import type { Type } from '@nestjs/common';
import { type AgentHandler, CODE_FOLDER, type HandlerFunction, isHandlerClass } from '../../query/index.js';

/** What a module may export as its default. */
export type ModuleHandler = Type<AgentHandler> | AgentHandler | HandlerFunction;

const WHAT =
  'its default export must be a function such as async function* (query, context) {…}, or a class or an object with a ' +
  'method "handle"';

/** How the service uses modules. */
export const HANDLER_USE: ModuleUse<ModuleHandler> = {
  ownCode: pathToFileURL(join(CODE_FOLDER, '/')).href,
  commandFor,
  otherLanguage: 'A program in another language is served with AGENT=command and COMMAND.',
  read: handlerOf,
};

/**
 * Loads the handler that a module exports as its default.
 *
 * @param name a path, relative to the working directory or absolute, or a `file:` URL
 * @throws {ModuleFailure} it cannot be loaded, or exports no handler
 */
export function loadHandler(name: string): Promise<ModuleHandler> {
  return loadModule(name, HANDLER_USE);
}

function commandFor(path: string, flags: string): string {
  const [, main = 'dist/main.js', command] = process.argv;
  return `AGENT=${shortPath(path)} node ${flags} ${shortPath(main)}${command === 'serve' ? ' serve' : ''}`;
}

function shortPath(path: string): string {
  const short = relative('', path);
  return short.startsWith('..') || isAbsolute(short) ? path : `./${short}`;
}

function handlerOf(exported: Exports): ModuleHandler {
  const handler = defaultOf(exported);
  if (!isHandler(handler)) throw new ModuleFailure('export', noHandler(exported, handler));
  return exported['restarts'] === undefined ? handler : withRestarts(handler, exported['restarts']);
}

/** A CommonJS module that a compiler has made of an ES module has its default export in a member. */
function defaultOf({ default: exported }: Exports): unknown {
  const compiled = exported as { __esModule?: boolean; default?: unknown } | null | undefined;
  return compiled?.__esModule === true ? compiled.default : exported;
}

function noHandler(exported: Exports, handler: unknown): string {
  if (handler === undefined) {
    const names = Object.keys(exported).filter((name) => name !== 'default' && name !== 'module.exports');
    return `It has no default export${names.length > 0 ? `, only ${names.join(', ')}` : ''}; ${WHAT}.`;
  }
  if (types.isPromise(handler)) return 'Its default export is a promise. Write "export default await …".';
  return `Its default export is ${kindOf(handler)}; ${WHAT}.`;
}

function kindOf(value: unknown): string {
  if (isHandlerClass(value)) return `the class ${value.name}, which has no method "handle"`;
  return value === null ? 'null' : `of the type ${typeof value}`;
}

function isHandler(value: unknown): value is ModuleHandler {
  if (typeof value !== 'function')
    return typeof (value as { handle?: unknown } | null | undefined)?.handle === 'function';
  if (!isHandlerClass(value)) return true;
  const { handle } = value.prototype as { handle?: unknown };
  return typeof handle === 'function' || /\bhandle\s*=/.test(Function.prototype.toString.call(value));
}

/** The module exports `restarts` beside the handler. */
function withRestarts(handler: ModuleHandler, restarts: unknown): ModuleHandler {
  const target: object = isHandlerClass(handler) ? (handler.prototype as object) : handler;
  Object.defineProperty(target, 'restarts', { value: restarts, configurable: true });
  return handler;
}
