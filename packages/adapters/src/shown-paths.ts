import { isAbsolute, relative, sep } from 'node:path';

/**
 * A path as callers see it: relative to the folder of the session if it is inside, with `/`. Any other is as the agent gave it.
 *
 * @param cwd the folder of the session, an absolute path
 *
 * @example
 * shownPath('/srv/project/1/src/main.ts', '/srv/project/1'); // 'src/main.ts'
 */
export function shownPath(path: string, cwd: string): string {
  if (!isAbsolute(path)) return path;
  const inside = relative(cwd, path);
  if (inside === '') return '.';
  if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) return path;
  return inside.split(sep).join('/');
}

/**
 * A text for people without the folder of the session: agents write paths into titles.
 *
 * @example
 * withoutFolder('cat /srv/project/1/a.txt', '/srv/project/1'); // 'cat ./a.txt'
 */
export function withoutFolder(text: string, cwd: string): string {
  return text.replaceAll(`${cwd}${sep}`, './');
}
