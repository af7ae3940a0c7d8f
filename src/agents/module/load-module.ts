import { setImmediate } from 'node:timers';
import process from 'node:process';
import { types } from 'node:util';
import type { Type } from '@nestjs/common';
import type { AgentHandler, HandlerFunction } from '../../query/index.js';
import { explainFailure, neverLoaded } from './explain-failure.js';
import { ModuleFailure } from './module-failure.js';
import { pathOfModule, urlOfFile } from './module-file.js';

/** What a module may export as its default. */
export type ModuleHandler = Type<AgentHandler> | AgentHandler | HandlerFunction;

const WHAT =
  'its default export must be a function such as async function* (query, context) {…}, or a class or an object with a ' +
  'method "handle"';

/**
 * Loads the handler that a module exports as its default.
 *
 * @param name a path, relative to the working directory or absolute, or a `file:` URL
 * @param addressOf the URL to import, where it is not that of the file itself
 * @throws {ModuleFailure} it cannot be loaded, or exports no handler
 */
export async function loadModule(
  name: string,
  addressOf: (url: URL) => string = ({ href }) => href,
): Promise<ModuleHandler> {
  const path = pathOfModule(name);
  const url = await urlOfFile(path);
  let exported: Record<string, unknown>;
  try {
    exported = await settled(import(addressOf(url)) as Promise<Record<string, unknown>>);
  } catch (error) {
    throw error instanceof ModuleFailure ? error : await explainFailure(error, path);
  }
  const handler = defaultOf(exported);
  if (!isHandler(handler)) throw new ModuleFailure('handler', noHandler(exported, handler));
  return exported['restarts'] === undefined ? handler : withRestarts(handler, exported['restarts']);
}

/** Whether a handler is a class. The source text is tested, because a class may have `handle` as a property of its instances. */
export function isClass(value: unknown): value is Type<AgentHandler> {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
}

/** Rejects where nothing is left that could settle a promise: Node would end the process without a word. */
async function settled<T>(promise: Promise<T>): Promise<T> {
  let leave!: () => void;
  const left = new Promise<never>((_, reject) => {
    // The immediate keeps the process alive until the reason is written.
    leave = () => setImmediate(() => reject(neverLoaded()));
    process.once('beforeExit', leave);
  });
  try {
    return await Promise.race([promise, left]);
  } finally {
    process.off('beforeExit', leave);
  }
}

/** A CommonJS module that a compiler has made of an ES module has its default export in a member. */
function defaultOf({ default: exported }: Record<string, unknown>): unknown {
  const compiled = exported as { __esModule?: boolean; default?: unknown } | null | undefined;
  return compiled?.__esModule === true ? compiled.default : exported;
}

function noHandler(exported: Record<string, unknown>, handler: unknown): string {
  if (handler === undefined) {
    const names = Object.keys(exported).filter((name) => name !== 'default' && name !== 'module.exports');
    return `It has no default export${names.length > 0 ? `, only ${names.join(', ')}` : ''}; ${WHAT}.`;
  }
  if (types.isPromise(handler)) return 'Its default export is a promise. Write "export default await …".';
  return `Its default export is ${kindOf(handler)}; ${WHAT}.`;
}

function kindOf(value: unknown): string {
  if (isClass(value)) return `the class ${value.name}, which has no method "handle"`;
  return value === null ? 'null' : `of the type ${typeof value}`;
}

function isHandler(value: unknown): value is ModuleHandler {
  if (typeof value !== 'function')
    return typeof (value as { handle?: unknown } | null | undefined)?.handle === 'function';
  if (!isClass(value)) return true;
  const { handle } = value.prototype as { handle?: unknown };
  return typeof handle === 'function' || /\bhandle\s*=/.test(Function.prototype.toString.call(value));
}

/** The module exports `restarts` beside the handler. */
function withRestarts(handler: ModuleHandler, restarts: unknown): ModuleHandler {
  const target: object = isClass(handler) ? (handler.prototype as object) : handler;
  Object.defineProperty(target, 'restarts', { value: restarts, configurable: true });
  return handler;
}
