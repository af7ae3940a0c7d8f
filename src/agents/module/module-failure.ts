/** Why a module cannot answer queries, and the exit code of a service that cannot start for this reason (`sysexits.h`). */
export const EXIT_CODES = {
  /** The module, or what it imports, has a syntax error. */
  syntax: 65,
  /** There is no such file. */
  file: 66,
  /** The module imports something that is not there, or needs another Node. */
  dependency: 69,
  /** The module throws while it is loaded. */
  exception: 70,
  /** The default export is no handler. */
  handler: 78,
} as const;

/** A module cannot be loaded. The message is for its author: it has no stack of Node and of this package. */
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
