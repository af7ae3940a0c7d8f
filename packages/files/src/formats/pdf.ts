import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { bytes, code, count, opening } from '../markdown.js';
import { UnreadableFile } from '../unreadable-file.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';
import { CharacterMaps } from './pdf-maps.js';

/** Characters of text that are enough, and pages that are searched for them, at most. */
const TEXT = 1000;
const PAGES = 5;
/** Characters of a page that are enough where all of its text is wanted. */
export const LONGEST = 1_000_000;
/** Entries of the outline that are shown, and their levels, at most. */
const SHOWN_ENTRIES = 20;
const SHOWN_LEVELS = 3;

/** Describes a PDF: pages, title, author, outline and how its text begins. */
export async function* describePdf(file: FileSource, limits: FilesLimits): Findings {
  const maps = new CharacterMaps();
  const task = await openPdf(file, limits, maps);
  try {
    const pdf = await task.promise;
    const facts = [
      pdf.numPages > 0 ? `${count(pdf.numPages, 'page')}.` : 'It does not state how many pages it has.',
    ];
    const { info } = await pdf.getMetadata();
    for (const field of ['Title', 'Author'] as const) {
      const value = (info as Record<string, unknown>)[field];
      if (typeof value === 'string' && value.trim() !== '')
        facts.push(`${field}: ${code(value.trim(), 200)}.`);
    }
    yield `${headingOf('PDF document', file)}${facts.join(' ')}`;
    if (pdf.numPages <= 0) return;
    yield await outlineOf(pdf);
    let text = '';
    let page = 0;
    while (text.length < TEXT && page < Math.min(pdf.numPages, PAGES)) {
      page += 1;
      text += await textOfPage(pdf, page, TEXT);
    }
    if (text.trim() === '' && maps.failure !== undefined) throw maps.failure;
    yield text.trim()
      ? `\n\nIts text begins:\n\n${opening(text.trim(), page === pdf.numPages)}`
      : `\n\nNo text on the first ${count(page, 'page')}: it may be a scan.`;
  } catch (error) {
    throw refusal(error);
  } finally {
    await task.destroy();
  }
}

/**
 * Opens a PDF, which must be destroyed.
 *
 * @param maps the characters of Asian fonts that are not in the file
 * @throws {UnreadableFile} if it is too large
 */
export async function openPdf(file: FileSource, limits: FilesLimits, maps?: CharacterMaps): Promise<PdfTask> {
  const largest = (limits.memoryMiB / 2) * 1024 * 1024;
  if (file.size > largest) {
    throw new UnreadableFile(
      `This PDF has ${bytes(file.size)}; only PDFs up to ${bytes(largest)} are opened here.`,
    );
  }
  return pdfOfBytes(await file.read(0, file.size), maps);
}

/** Opens the bytes of a PDF, which the library may take away. It must be destroyed. */
export async function pdfOfBytes(data: Uint8Array, maps = new CharacterMaps()): Promise<PdfTask> {
  const { getResolvedPDFJS } = await import('unpdf');
  const { getDocument, VerbosityLevel } = await getResolvedPDFJS();
  return getDocument({
    data,
    verbosity: VerbosityLevel.ERRORS,
    isEvalSupported: false,
    useSystemFonts: false,
    disableFontFace: true,
    BinaryDataFactory: maps.factory(),
  });
}

type PdfTask = ReturnType<Awaited<ReturnType<(typeof import('unpdf'))['getResolvedPDFJS']>>['getDocument']>;
/** An open PDF. */
export type Pdf = Awaited<PdfTask['promise']>;

type Outline = Awaited<ReturnType<Pdf['getOutline']>>;

async function outlineOf(pdf: Pdf): Promise<string> {
  const titles = await titlesOf(pdf, SHOWN_ENTRIES + 1, SHOWN_LEVELS);
  if (titles.length === 0) return '';
  const lines = titles.map(({ title, level }) => `${'  '.repeat(level)}- ${code(title.trim())}`);
  const more = titles.length > SHOWN_ENTRIES ? '\n- …' : '';
  return `\n\nOutline:\n\n${lines.slice(0, SHOWN_ENTRIES).join('\n')}${more}`;
}

/**
 * The titles of the outline, which PDF programs call bookmarks, in their order and with their level from 0.
 *
 * @param most titles, and the levels of them, that are read
 */
export async function titlesOf(
  pdf: Pdf,
  most: number,
  levels = Infinity,
): Promise<{ title: string; level: number }[]> {
  const titles: { title: string; level: number }[] = [];
  const add = (entries: Outline, level: number): void => {
    for (const { title, items } of level < levels ? entries : []) {
      if (titles.length >= most) return;
      titles.push({ title, level });
      add(items as Outline, level + 1);
    }
  };
  add((await pdf.getOutline()) ?? [], 0);
  return titles;
}

/** Pages by their numbers, from 1, both included. */
export interface PageRange {
  first: number;
  last: number;
}

/** Reads the text of a page. @param number from 1 */
export type ReadPage = (number: number) => Promise<string>;

/** The texts of pages, one read after another. */
export async function textsIn({ first, last }: PageRange, read: ReadPage): Promise<string[]> {
  const texts: string[] = [];
  for (let number = first; number <= last; number += 1) texts.push(await read(number));
  return texts;
}

/** @param length characters that are enough */
export async function textOfPage(pdf: Pdf, number: number, length: number): Promise<string> {
  const page = await pdf.getPage(number);
  const { items } = await page.getTextContent();
  let text = '';
  for (const item of items) {
    if (!('str' in item)) continue;
    text += item.str + (item.hasEOL ? '\n' : '');
    if (text.length > length) break;
  }
  return `${text}\n`;
}

/** What a caller is told about an error of the library. */
export function refusal(error: unknown): unknown {
  const name = error instanceof Error ? error.name : '';
  if (name === 'PasswordException') {
    return new UnreadableFile('This PDF is encrypted: it opens with its password only.');
  }
  // The library's own exceptions. It wraps any other error that a broken file causes in one of them.
  if (/Exception$|^FormatError$/.test(name)) {
    return new UnreadableFile('This PDF is broken or cut off: its structure cannot be read.');
  }
  return error;
}
