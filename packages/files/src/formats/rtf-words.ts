import type { Aside } from './text-sink.js';

/** What the text of a group belongs to. */
export type Target = 'text' | 'title' | 'author' | 'commenter' | 'fonts';

/** Groups whose text is not that of the document. */
const HIDDEN = new Set(
  (
    'colortbl stylesheet listtable listoverridetable revtbl rsidtbl generator info pict objclass objdata objname ftnsep ftnsepc aftnsep ' +
    'xmlnstbl themedata colorschememapping datastore latentstyles fldinst bkmkstart bkmkend listtext pntext nonesttables xe rxe txe tc tcn ' +
    'atnid atndate atnref atnparent'
  ).split(' '),
);
/** Groups whose text is shown although a program that does not know them leaves them out. */
const SHOWN = new Set(['shppict', 'fldrslt']);
/** Groups whose text is kept apart, and that of a text box, which is in a group that is not shown. */
const TARGETS = new Map<string, Target>([
  ['title', 'title'],
  ['author', 'author'],
  ['atnauthor', 'commenter'],
  ['fonttbl', 'fonts'],
  ['shptxt', 'text'],
]);

/** Control words that stand for a character. */
export const CHARACTERS = new Map([
  ['tab', '\t'],
  ['line', ' '],
  ['emspace', ' '],
  ['enspace', ' '],
  ['qmspace', ' '],
  ['emdash', '—'],
  ['endash', '–'],
  ['lquote', '‘'],
  ['rquote', '’'],
  ['ldblquote', '“'],
  ['rdblquote', '”'],
  ['bullet', '•'],
  ['~', '\u00a0'],
  ['_', '-'],
]);

/** Control words that end a paragraph. */
export const PARAGRAPH_ENDS = new Set(['par', 'cell', 'nestcell', 'nestrow', 'sect', 'page', 'column']);

/**
 * What the text of a group belongs to; undefined if it is not shown.
 *
 * @param word with which the group begins
 * @param isOptional whether a program that does not know the word leaves the group out
 * @param outer what the group around it belongs to
 */
export function targetOf(word: string, isOptional: boolean, outer: Target | undefined): Target | undefined {
  const isLeftOut = HIDDEN.has(word) || (isOptional && !SHOWN.has(word));
  return TARGETS.get(word) ?? (isLeftOut ? undefined : outer);
}

/** What is beside the text, by the word that its group begins with: of pages on the left, on the right and the first. */
export function asideOf(word: string): Aside | undefined {
  const [, what] = /^(header|footer|footnote|annotation)[lrf]?$/.exec(word) ?? [];
  return what === 'annotation' ? 'comment' : (what as Aside | undefined);
}
