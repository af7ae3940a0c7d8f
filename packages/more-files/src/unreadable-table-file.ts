/**
 * A file that cannot be read because of what it is: broken, encrypted or too large.
 *
 * The message consists of whole sentences for the caller, without internal details.
 *
 * @example
 * if (error instanceof UnreadableTableFile) return error.message;
 */
export class UnreadableTableFile extends Error {
  override readonly name = 'UnreadableTableFile';
}
