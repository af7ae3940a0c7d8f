import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, resolve } from 'node:path';

/** What a person can type besides texts. */
export const COMMANDS = [
  ['/file PATH', 'sends this file with the next text'],
  ['/drop', 'sends none of the files that are attached'],
  ['/1 to /8', 'sends a suggestion of the agent'],
  ['/help', 'shows this'],
  ['/exit', 'leaves the conversation, as Ctrl-D does'],
] as const;

const NAMES = ['/file ', '/drop', '/help', '/exit'];

/** What may stand at the end of a line: names of commands, and paths after `/file`. @returns as `readline` asks for it */
export function complete(line: string): [string[], string] {
  const [, path] = /^\/file\s+(.*)$/s.exec(line) ?? [];
  if (path !== undefined) return [pathsLike(path), path];
  return [line.startsWith('/') ? NAMES.filter((name) => name.startsWith(line)) : [], line];
}

/** The path that a person has typed, or has drawn into the terminal, which may put quotes or backslashes into it. */
export function pathOf(typed: string): string {
  const [, , quoted] = /^(['"])(.*)\1$/s.exec(typed) ?? [];
  const path = quoted ?? (process.platform === 'win32' ? typed : typed.replace(/\\(.)/gs, '$1'));
  return resolve(path.replace(/^~(?=\/|$)/, homedir()));
}

function pathsLike(path: string): string[] {
  const isFolder = path === '' || path.endsWith('/');
  const name = isFolder ? '' : basename(path);
  const before = path.slice(0, path.length - name.length);
  try {
    return readdirSync(pathOf(before || '.'), { withFileTypes: true })
      .filter((entry) => entry.name.startsWith(name) && (name !== '' || !entry.name.startsWith('.')))
      .map((entry) => before + entry.name + (entry.isDirectory() ? '/' : ''));
  } catch {
    // There is no such folder, or this user may not read it.
    return [];
  }
}
