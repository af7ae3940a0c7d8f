import { setImmediate } from 'node:timers';
import process from 'node:process';
import { explainFailure, neverLoaded } from './explain-failure.js';
import { ModuleFailure } from './module-failure.js';
import { pathOfModule, urlOfFile } from './module-file.js';
import type { Exports, ModuleUse } from './module-program.js';

/**
 * Loads a module.
 *
 * @param name a path, relative to the working directory or absolute, or a `file:` URL
 * @returns what `use.read` has made of it
 * @throws {ModuleFailure} it cannot be loaded, or `use.read` refuses it. The message is for its author
 * @example
 * const agent = await loadModule('./agent.mjs', {
 *   ownCode: new URL('./', import.meta.url).href,
 *   commandFor: (path, flags) => `node ${flags} serve.mjs ${path}`,
 *   otherLanguage: 'Write it in JavaScript.',
 *   read: ({ default: exported }) => exported,
 * });
 */
export function loadModule<T>(name: string, use: ModuleUse<T>): Promise<T> {
  return importModule(name, use, ({ href }) => href);
}

/** @param addressOf the URL to import, of that of the file */
export async function importModule<T>(
  name: string,
  use: ModuleUse<T>,
  addressOf: (url: URL) => string,
): Promise<T> {
  const path = pathOfModule(name);
  const url = await urlOfFile(path);
  let exported: Exports;
  try {
    exported = await settled(import(addressOf(url)) as Promise<Exports>);
  } catch (error) {
    throw error instanceof ModuleFailure ? error : await explainFailure(error, path, use);
  }
  return use.read(exported);
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
