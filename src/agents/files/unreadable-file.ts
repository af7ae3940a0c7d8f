/**
 * A file that cannot be described, through no fault of this program: broken, encrypted, too costly.
 *
 * Its message is one or more whole sentences for the caller, and holds nothing but what the caller may know.
 */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}
