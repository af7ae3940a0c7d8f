import { fileURLToPath } from 'node:url';

/** The program that loads a module. */
export interface ModuleProgram {
  /**
   * The folder with the code of the program, a `file:` URL that ends with "/". A module that imports it is reloaded without it, and
   * its lines are left out of stacks.
   */
  ownCode: string;
  /**
   * The command that starts the program with a module: the end of a sentence about TypeScript.
   *
   * @param path of the module
   * @param flags for Node, as in `--import tsx`
   */
  commandFor(path: string, flags: string): string;
  /** A sentence: what to do with a program in another language. */
  otherLanguage: string;
}

/** What a module exports, by name. */
export type Exports = Record<string, unknown>;

/** The program, and what it makes of a module. */
export interface ModuleUse<T> extends ModuleProgram {
  /**
   * Makes what the program needs of what the module exports.
   *
   * @throws {ModuleFailure} the module exports something else
   */
  read(exported: Exports): T;
}

/** The program, and where it logs reloads. A logger of Nest is such a log. */
export interface WatchedModuleUse<T> extends ModuleUse<T> {
  logger: { log(text: string): void; error(text: string): void };
}

const LOADER = new URL('./', import.meta.url).href;

/** Whether a line of a stack is of the program, or of this package. */
export function isOfProgram(line: string, { ownCode }: ModuleProgram): boolean {
  return [LOADER, ownCode].some((folder) => line.includes(folder) || line.includes(fileURLToPath(folder)));
}
