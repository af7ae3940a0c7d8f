import { code } from './markdown.js';

/** The files that a request means: those with the name that it gives, or all. */
export function filesNamed<F extends { name: string }>(files: F[], of: string | undefined): F[] {
  return of === undefined ? files : files.filter(({ name }) => name.toLowerCase() === of.toLowerCase());
}

/** The same files, of which those that a request means are declared to be in its encoding, if it has one. */
export function inEncoding<F extends { name: string; mimeType: string }>(
  files: F[],
  { encoding, of }: { encoding?: string; of?: string },
): F[] {
  if (encoding === undefined) return files;
  const meant = filesNamed(files, of);
  const typeOf = ({ mimeType }: F) => `${mimeType.split(';')[0]!}; charset=${encoding}`;
  return files.map((file) => (meant.includes(file) ? { ...file, mimeType: typeOf(file) } : file));
}

/** What a request is told that means no file. */
export function noSuchFile(files: { name: string }[], of: string | undefined): string {
  if (files.length === 0 || of === undefined) return 'There are no files.';
  return `There is no file ${code(of)}. The files are: ${files.map(({ name }) => code(name)).join(', ')}.`;
}
