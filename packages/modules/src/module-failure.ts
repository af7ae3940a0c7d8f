/**
 * Why a module cannot be used, and the exit code of a program that cannot start for this reason (`sysexits.h`).
 *
 * @example
 * process.exitCode = EXIT_CODES[failure.reason];
 */
export const EXIT_CODES = {
  /** The module, or what it imports, has a syntax error. */
  syntax: 65,
  /** There is no such file. */
  file: 66,
  /** The module imports something that is not there, or needs another Node. */
  dependency: 69,
  /** The module throws while it is loaded. */
  exception: 70,
  /** The module does not export what the program needs. */
  export: 78,
} as const;

/**
 * A module cannot be loaded. The message is for its author: it has no stack of Node and of the program that loads it.
 *
 * @example
 * if (typeof exported !== 'function') throw new ModuleFailure('export', 'Its default export must be a function.');
 */
export class ModuleFailure extends Error {
  override readonly name = 'ModuleFailure';

  constructor(
    readonly reason: keyof typeof EXIT_CODES,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
