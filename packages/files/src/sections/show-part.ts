import { describeFile } from '../describe-file.js';
import { headOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import type { Findings } from '../formats/findings.js';
import type { TextSheet } from '../formats/text-sheet.js';
import { ZipArchive } from '../formats/zip-archive.js';
import { block, bytes, code, count, table } from '../markdown.js';
import type { FilesRequest } from '../request.js';
import { moreSheets } from '../tables/more-tables.js';
import { sheetsOf } from '../tables/workbook-tables.js';
import type { Workspace } from '../tables/workspace.js';
import { UnreadableFile } from '../unreadable-file.js';
import { archiveFiles } from './archive-entries.js';
import { withPages } from './pages.js';
import type { Pages } from './pages.js';
import { passagesOf } from './passages-of.js';

/** Characters of text in one answer about one file. */
const SHOWN_TEXT = 64 * 1024;
/** Pages of one answer. */
const SHOWN_PAGES = 20;
const SHOWN_ROWS = 50;
const SHOWN_COLUMNS = 20;
/** Names of what exists, titles and first lines. */
const LISTED = 50;

/** A request for a part of files. */
export type PartRequest = Exclude<FilesRequest, { kind: 'sql' | 'writing' | 'find' | 'describe' }>;

/** The part of a file that is requested, in Markdown; undefined if files of this kind have no such part. */
export async function showPart(
  request: PartRequest,
  file: FileSource,
  limits: FilesLimits,
  workspace: Workspace,
): Promise<string | undefined> {
  switch (request.kind) {
    case 'pages':
      return withPages(file, limits, async (pages) => pages && showPages(pages, request.first, request.last));
    case 'sheet':
      return showSheet(file, request.name, limits);
    case 'entry':
      return showEntry(file, request.path, limits, workspace);
    case 'outline':
      return showOutline(file, limits);
    case 'text':
      return showText(file, limits);
  }
}

async function showPages(pages: Pages, first: number, last: number): Promise<string> {
  const { what, count: total } = pages;
  if (first < 1 || first > last || first > total) {
    const range = total === 1 ? `only ${what} 1` : `the ${what}s 1 to ${total.toLocaleString('en-US')}`;
    return total === 0 ? `It has no ${what}s.` : `There is no such ${what}: it has ${range}.`;
  }
  const parts: string[] = [];
  let length = 0;
  const end = Math.min(last, total, first + SHOWN_PAGES - 1);
  for (let number = first; number <= end; number += 1) {
    const notes = (await pages.notes?.(number))?.trim();
    const text = `${(await pages.text(number)).trim()}${notes ? `\n\n[notes] ${notes}` : ''}`.trim();
    const shown = text.slice(0, SHOWN_TEXT - length);
    length += shown.length;
    const cut = shown.length < text.length ? '\n\n(The beginning only.)' : '';
    const body = text === '' ? '(No text: it may be a scan.)' : `${block(shown)}${cut}`;
    parts.push(`**${what === 'page' ? 'Page' : 'Slide'} ${number} of ${total}**\n\n${body}`);
    if (cut !== '') break;
  }
  if (last > total) parts.push(`(There are no further ${what}s.)`);
  else if (last > end) parts.push(`(No more than ${SHOWN_PAGES} ${what}s are shown at once.)`);
  return parts.join('\n\n');
}

async function showSheet(file: FileSource, name: string, limits: FilesLimits): Promise<string | undefined> {
  const sheets = await sheetsOfFile(file, limits);
  if (!sheets) return undefined;
  const sheet = sheets.find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (!sheet) return `There is no such sheet. It has: ${listed(sheets.map((each) => each.name))}.`;
  const rows: string[][] = [];
  let total = 0;
  let width = 0;
  for await (const { number, cells } of sheet.rows()) {
    total += 1;
    if (total > SHOWN_ROWS) break;
    width = Math.max(width, Math.min(cells.length, SHOWN_COLUMNS));
    const shown = cells.slice(0, SHOWN_COLUMNS).map((cell) => (cell === null ? '' : code(cell)));
    rows.push([String(number), ...shown]);
  }
  if (rows.length === 0) return `Sheet ${code(sheet.name)} is empty.`;
  const head = ['row', ...Array.from({ length: width }, (_, index) => columnLetters(index))];
  const body = rows.map((row) => [...row, ...Array<string>(width + 1 - row.length).fill('')]);
  const more = total > SHOWN_ROWS ? `\n\n(The first ${count(SHOWN_ROWS, 'row')}.)` : '';
  return `Sheet ${code(sheet.name)}:\n\n${table(head, body)}${more}`;
}

async function showEntry(
  file: FileSource,
  path: string,
  limits: FilesLimits,
  workspace: Workspace,
): Promise<string | undefined> {
  const entries = await archiveFiles(file, limits);
  if (!entries) return undefined;
  const names: string[] = [];
  for await (const { name, open } of entries) {
    if (name !== path) {
      names.push(name);
      continue;
    }
    const entry = await open();
    const text = await showText(entry, limits).catch(nothingIfUnreadable);
    const body = text ?? (await joined(describeFile(entry, limits, workspace)));
    return `Entry ${code(name)}, ${bytes(entry.size)}:\n\n${body}`;
  }
  return `There is no such entry. It has: ${listed(names)}.`;
}

async function showOutline(file: FileSource, limits: FilesLimits): Promise<string | undefined> {
  const ofPages = await withPages(file, limits, async (pages) => pages && outlineOf(pages));
  if (ofPages !== undefined) return ofPages;
  const sheets = await sheetsOfFile(file, limits);
  if (sheets) return sheets.map(({ name }) => `- sheet ${code(name)}`).join('\n');
  const entries = await archiveFiles(file, limits);
  if (entries) {
    const names: string[] = [];
    for await (const { name } of entries) if (names.push(name) > LISTED) break;
    const notes = (await zipOf(file, limits))?.notes ?? [];
    return [lines(names.map((name) => `- entry ${code(name)}`)), ...notes].join('\n\n');
  }
  const titles: string[] = [];
  for await (const { text, level } of passagesOf(file, limits)) {
    if (level !== undefined) titles.push(`${'  '.repeat(level)}- ${code(text.replace(/^#+\s+/, '').trim())}`);
    if (titles.length > LISTED) break;
  }
  return titles.length === 0 ? undefined : lines(titles);
}

async function outlineOf(pages: Pages): Promise<string> {
  const titles = await pages.outline();
  if (titles.length > 0)
    return lines(titles.map(({ title, level }) => `${'  '.repeat(level)}- ${code(title)}`));
  const first: string[] = [];
  for (let number = 1; number <= Math.min(pages.count, LISTED + 1); number += 1) {
    const [line] = (await pages.text(number)).trim().split('\n');
    first.push(`- ${pages.what} ${number}: ${line ? code(line.trim()) : '(no text)'}`);
  }
  return lines(first);
}

async function showText(file: FileSource, limits: FilesLimits): Promise<string | undefined> {
  const parts: string[] = [];
  const notes = new Set<string>();
  let length = 0;
  for await (const { text, place } of passagesOf(file, limits, notes)) {
    const line = place.aside === undefined ? text : `[${place.aside}] ${text}`;
    parts.push(line);
    length += line.length + 1;
    if (length > SHOWN_TEXT) break;
  }
  if (parts.length === 0) return undefined;
  const said = length > SHOWN_TEXT ? ['(The beginning only.)', ...notes] : [...notes];
  return [block(parts.join('\n').slice(0, SHOWN_TEXT)), ...said].join('\n\n');
}

async function sheetsOfFile(file: FileSource, limits: FilesLimits): Promise<TextSheet[] | undefined> {
  const zip = await zipOf(file, limits);
  return (zip && (await sheetsOf(zip))) ?? moreSheets(file);
}

async function zipOf(file: FileSource, limits: FilesLimits): Promise<ZipArchive | undefined> {
  const head = Buffer.from((await headOf(file)).subarray(0, 4)).toString('latin1');
  return head === 'PK\x03\x04' ? ZipArchive.open(file, limits) : undefined;
}

function listed(names: string[]): string {
  const shown = names.slice(0, LISTED).map((name) => code(name));
  const rest = names.length - shown.length;
  return `${shown.join(', ')}${rest > 0 ? ` and ${count(rest, 'other')}` : ''}`;
}

function lines(all: string[]): string {
  return `${all.slice(0, LISTED).join('\n')}${all.length > LISTED ? '\n\n(The beginning only.)' : ''}`;
}

/** 0 is `A`, 26 is `AA`. */
function columnLetters(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26));
  return index < 26 ? letter : columnLetters(Math.floor(index / 26) - 1) + letter;
}

async function joined(findings: Findings): Promise<string> {
  let text = '';
  for await (const piece of findings) text += piece;
  return text;
}

function nothingIfUnreadable(error: unknown): undefined {
  if (!(error instanceof UnreadableFile)) throw error;
}
