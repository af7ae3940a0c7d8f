import { code } from './markdown.js';

/** The files that a request means: those with the name that it gives, or all. */
export function filesNamed<F extends { name: string }>(files: F[], of: string | undefined): F[] {
  return of === undefined ? files : files.filter(({ name }) => name.toLowerCase() === of.toLowerCase());
}

/** What a request is told that means no file. */
export function noSuchFile(files: { name: string }[], of: string | undefined): string {
  if (files.length === 0 || of === undefined) return 'There are no files.';
  return `There is no file ${code(of)}. The files are: ${files.map(({ name }) => code(name)).join(', ')}.`;
}
