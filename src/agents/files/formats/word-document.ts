import { code, count, opening, plain } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import type { Findings } from './findings.js';
import { TextTally } from './text.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

const SHOWN_HEADINGS = 20;
const KEPT = 1000;

/** Describes a Word document (ECMA-376 WordprocessingML): length, headings and the beginning of its text. */
export async function* describeDocument(zip: ZipArchive, heading: string): Findings {
  const levels = await headingStyles(zip);
  const tally = new TextTally();
  const headings: string[] = [];
  let found = 0;
  let paragraphs = 0;
  let tables = 0;
  let beginning = '';
  let paragraph = '';
  let level: number | undefined;
  let inText = false;
  const title = await documentTitle(zip);
  const stopped = await untilStopped(() =>
    readXml(zip.read('word/document.xml'), {
      open(name, attributes) {
        if (name === 'tbl') tables += 1;
        if (name === 'pStyle') level = levels.get(attributes['w:val'] ?? '');
        if (name === 't') inText = true;
        if (name === 'tab' || name === 'br') add(' ');
      },
      text(text) {
        if (inText) add(text);
      },
      close(name) {
        if (name === 't') inText = false;
        if (name === 'p') endParagraph();
      },
    }),
  );

  function add(text: string): void {
    tally.add(text);
    if (paragraph.length < KEPT) paragraph += text.slice(0, KEPT);
  }

  function endParagraph(): void {
    tally.add('\n');
    if (paragraph.trim() !== '') {
      paragraphs += 1;
      if (beginning.length < KEPT) beginning += `${paragraph}\n`;
      if (level !== undefined) {
        found += 1;
        if (found <= SHOWN_HEADINGS) headings.push(`${'  '.repeat(level)}- ${code(paragraph.trim())}`);
      }
    }
    paragraph = '';
    level = undefined;
  }

  const facts = [
    `${stopped ? 'At least ' : ''}${count(tally.words, 'word')} in ${count(paragraphs, 'paragraph')}.`,
  ];
  if (tables > 0) facts.push(`${count(tables, 'table')}.`);
  if (title) facts.unshift(`Title: ${code(title, 200)}.`);
  const parts = [facts.join(' ')];
  if (found > 0) {
    const more = found > SHOWN_HEADINGS ? `\n- (${count(found - SHOWN_HEADINGS, 'more heading')})` : '';
    parts.push(`Headings:\n\n${headings.join('\n')}${more}`);
  }
  if (beginning !== '')
    parts.push(`Its text begins:\n\n${opening(beginning.trim(), beginning.length < KEPT && !stopped)}`);
  yield `${heading}${parts.join('\n\n')}`;
  if (stopped) throw stopped;
}

/** The title of an office document, from its properties; empty if it has none. */
export async function documentTitle(zip: ZipArchive): Promise<string> {
  let title = '';
  let inTitle = false;
  if (!zip.has('docProps/core.xml')) return title;
  await readXml(zip.read('docProps/core.xml'), {
    open: (name) => (inTitle = name === 'title'),
    text(text) {
      if (inTitle && title.length < KEPT) title += text;
    },
    close: () => (inTitle = false),
  });
  return plain(title.trim(), 200);
}

/**
 * The level, from 0, of each paragraph style that is a heading. A heading has an outline level, or an English name even in
 * documents of other languages.
 */
async function headingStyles(zip: ZipArchive): Promise<Map<string, number>> {
  const levels = new Map<string, number>();
  let style = '';
  if (!zip.has('word/styles.xml')) return levels;
  await readXml(zip.read('word/styles.xml'), {
    open(name, attributes) {
      const value = attributes['w:val'] ?? '';
      if (name === 'style')
        style = attributes['w:type'] === 'paragraph' ? (attributes['w:styleId'] ?? '') : '';
      if (style === '' || levels.size >= KEPT) return;
      if (name === 'name' && /^heading [1-9]$/i.test(value)) levels.set(style, Number(value.at(-1)) - 1);
      if (name === 'name' && /^title$/i.test(value)) levels.set(style, 0);
      if (name === 'outlineLvl' && /^[0-8]$/.test(value)) levels.set(style, Number(value));
    },
  });
  return levels;
}
