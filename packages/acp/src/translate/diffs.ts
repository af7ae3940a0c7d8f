import { shownPath } from 'nest-agent-query-adapters';
import { itemsOf, membersOf, textIn } from './members.js';

/** What a call changes in a file. */
export interface ShownDiff {
  path: string;
  /** null: the file is new. */
  oldText: string | null;
  newText: string;
  /** Whether one of the texts is cut. */
  truncated?: true;
}

/** A place in a file that a call is about. */
export interface ShownLocation {
  path: string;
  /** From 1. */
  line?: number;
}

/** The most characters of one text of a diff, and of all texts of a call together. */
const TEXT_LENGTH = 64 * 1024;
const ALL_LENGTH = 1024 * 1024;
const MOST_ITEMS = 200;

/** The diffs among the contents of a call. */
export function diffsOf(content: unknown, cwd: string): ShownDiff[] {
  let room = ALL_LENGTH;
  const cut = (text: string): string => {
    const shown = text.slice(0, Math.min(TEXT_LENGTH, room));
    room -= shown.length;
    return shown;
  };
  return itemsOf(content, MOST_ITEMS).flatMap((item) => {
    const { type, path, oldText, newText } = membersOf(item);
    if (type !== 'diff' || typeof path !== 'string' || typeof newText !== 'string') return [];
    const before = typeof oldText === 'string' ? oldText : null;
    const shown = { oldText: before === null ? null : cut(before), newText: cut(newText) };
    const isCut = shown.oldText !== before || shown.newText !== newText;
    return [{ path: shownPath(path, cwd), ...shown, ...(isCut && { truncated: true as const }) }];
  });
}

/** The locations of a call. A line that is no number from 1 is left out. */
export function locationsOf(locations: unknown, cwd: string): ShownLocation[] {
  return itemsOf(locations, MOST_ITEMS).flatMap((item) => {
    const { path, line } = membersOf(item);
    if (textIn(path) === undefined) return [];
    const isLine = Number.isInteger(line) && (line as number) > 0;
    return [{ path: shownPath(path as string, cwd), ...(isLine && { line: line as number }) }];
  });
}
