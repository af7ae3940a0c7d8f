/**
 * A file that cannot be described because of what it is: broken, encrypted or too costly.
 *
 * The message consists of whole sentences for the caller, without internal details.
 */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}
