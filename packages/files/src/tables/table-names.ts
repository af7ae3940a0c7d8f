import { extensionOf } from '../formats/languages.js';

/** The reserved words of the engine's SQL: as the name of a table they would need quotes. */
const RESERVED = new Set(
  (
    'all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create default ' +
    'deferrable desc describe distinct do else end except false fetch for foreign from group having in initially ' +
    'intersect into lambda lateral leading limit not null offset on only or order pivot pivot_longer pivot_wider ' +
    'placing primary qualify references returning select show some summarize symmetric table then to trailing true ' +
    'union unique unpivot using variadic when where window with'
  ).split(' '),
);

/** Characters of a name. */
const LONGEST = 60;

/**
 * The name of a table in SQL. It is the name of its file without the extension, in lower case, and then `_` and the sheet if
 * the file has several tables. What is neither a letter nor a digit becomes `_`. A name that begins with a digit, or is a
 * reserved word, gets `t_` in front. A name that is taken gets `_2`, `_3` and so on.
 *
 * @param taken the names that are taken; the new one is added
 */
export function tableName(file: string, sheet: string | undefined, taken: Set<string>): string {
  const parts = [withoutExtension(file), ...(sheet === undefined ? [] : [sheet])];
  const words = parts.map(wordOf).filter((word) => word !== '');
  let base = words.join('_').slice(0, LONGEST) || 'table';
  if (/^\p{N}/u.test(base) || RESERVED.has(base)) base = `t_${base}`;
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base}_${number}`;
  taken.add(name);
  return name;
}

/** Whether a name needs no quotes in SQL. */
export function isPlainName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED.has(name.toLowerCase());
}

/** The name of the file without `.csv` or `.csv.gz`. */
function withoutExtension(file: string): string {
  const extension = extensionOf(file);
  const stem = extension === '' ? file : file.slice(0, -extension.length - 1);
  return extension === 'gz' ? withoutExtension(stem) : stem;
}

function wordOf(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '_')
    .replace(/^_+|_+$/g, '');
}
