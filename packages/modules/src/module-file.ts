import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ModuleFailure } from './module-failure.js';

/**
 * The path of a module.
 *
 * @param name a path, relative to the working directory or absolute, or a `file:` URL
 * @throws {ModuleFailure} the URL names no file of this machine
 */
export function pathOfModule(name: string): string {
  if (!/^file:/i.test(name)) return resolve(name);
  try {
    return fileURLToPath(name);
  } catch (error) {
    throw new ModuleFailure('file', `This URL names no file of this machine: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

/** @throws {ModuleFailure} there is no such file, or it cannot be read */
export async function urlOfFile(path: string): Promise<URL> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR')
      throw new ModuleFailure('file', `The file cannot be read: ${error.message}.`, { cause: error });
    const isForWindows = process.platform !== 'win32' && path.includes('\\');
    const hint = isForWindows ? ' On this system, a path has "/" instead of "\\".' : '';
    throw new ModuleFailure('file', `There is no file ${path}.${hint}`, { cause: error });
  });
  if (stats.isDirectory()) throw new ModuleFailure('file', `${path} is a directory. Name a file.`);
  // Node remembers for ever where a symbolic link leads to.
  return pathToFileURL(await realpath(path));
}
