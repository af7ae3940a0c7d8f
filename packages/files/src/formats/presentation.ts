import { clip, code, count, numbered, opening } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import type { Findings } from './findings.js';
import { DRAWINGS, drawingListener } from './drawing-text.js';
import { relatedParts } from './related-parts.js';
import { relationshipsOf } from './relationships.js';
import { TextTally } from './text.js';
import { documentTitle } from './word-document.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

const SHOWN_SLIDES = 20;
const KEPT = 1000;
/** Characters of one slide. */
const LONGEST = 1_000_000;
/** Slides that are read, at most. */
const MAX_SLIDES = 5000;

/** Describes a PowerPoint presentation (ECMA-376 PresentationML): slides and their text. */
export async function* describePresentation(zip: ZipArchive, main: string, heading: string): Findings {
  const slides = await slidesInOrder(zip, main);
  const tally = new TextTally();
  const shown: string[] = [];
  let beginning = '';
  const title = await documentTitle(zip);
  const stopped = await untilStopped(async () => {
    for (const [index, slide] of slides.entries()) {
      const { title, text, isHidden } = await readSlide(zip, slide, tally);
      const without = zip.has(slide) ? '(without text)' : '(missing in this file)';
      if (index < SHOWN_SLIDES) shown.push(`${title ? code(title) : without}${isHidden ? ' (hidden)' : ''}`);
      if (beginning.length < KEPT && text !== '') beginning += `${text}\n`;
    }
  });
  const words = `${stopped ? 'at least ' : ''}${count(tally.words, 'word')}`;
  const facts = `${title ? `Title: ${code(title, 200)}. ` : ''}${count(slides.length, 'slide')}, ${words}.`;
  const parts = [facts];
  if (shown.length > 0) parts.push(numbered(shown, slides.length - SHOWN_SLIDES, 'slide'));
  if (beginning !== '')
    parts.push(`Its text begins:\n\n${opening(beginning.trim(), beginning.length < KEPT && !stopped)}`);
  yield `${heading}${parts.join('\n\n')}`;
  if (stopped) throw stopped;
}

/** The entries of the slides, also of those that are missing. @param main the entry of the main part */
export async function slidesInOrder(zip: ZipArchive, main: string): Promise<string[]> {
  const targets = await relationshipsOf(zip, main);
  const slides: string[] = [];
  await readXml(zip.read(main), {
    open(name, attributes) {
      if (name !== 'sldId' || slides.length >= MAX_SLIDES) return;
      slides.push(targets.get(attributes['r:id'] ?? '')?.target ?? '');
    },
  });
  return slides;
}

/** Title (of the title's placeholder, or else the first line) and text of a slide, both shortened; all words are counted. */
async function readSlide(
  zip: ZipArchive,
  slide: string,
  tally: TextTally,
): Promise<{ title: string; text: string; isHidden: boolean }> {
  let isHidden = false;
  let title = '';
  let text = '';
  for (const entry of await entriesOfSlide(zip, slide)) {
    const isNotShown = await readParagraphs(zip, entry, (line, isTitle) => {
      tally.add(`${line}\n`);
      if (isTitle && title === '') title = line.slice(0, KEPT).trim();
      if (text.length < KEPT) text += `${line.slice(0, KEPT)}\n`;
    });
    isHidden ||= isNotShown;
  }
  return { title: title || clip(text.split('\n')[0] ?? '', 80), text, isHidden };
}

/** The entries of a slide itself and of the diagrams and charts on it. */
async function entriesOfSlide(zip: ZipArchive, slide: string): Promise<string[]> {
  return [slide, ...(await relatedParts(zip, slide, DRAWINGS))];
}

/** The text of a slide. */
export async function textOfSlide(zip: ZipArchive, slide: string): Promise<string> {
  return textOf(zip, await entriesOfSlide(zip, slide));
}

/** The text of what is beside a slide: its notes, and comments on it; empty if it has none. */
export async function notesOfSlide(zip: ZipArchive, slide: string): Promise<string> {
  return textOf(zip, await relatedParts(zip, slide, ['notes', 'cmLst']));
}

async function textOf(zip: ZipArchive, entries: string[]): Promise<string> {
  let text = '';
  for (const entry of entries)
    await readParagraphs(zip, entry, (line) => {
      if (text.length < LONGEST) text += `${line}\n`;
    });
  return text;
}

/** Reads the paragraphs of an entry. @returns whether it is a slide that is not presented */
async function readParagraphs(
  zip: ZipArchive,
  entry: string,
  onParagraph: (line: string, isTitle: boolean) => void,
): Promise<boolean> {
  let isHidden = false;
  const listener = drawingListener((line, place) => {
    if (place !== 'sldNum') onParagraph(line, place === 'title' || place === 'ctrTitle');
  });
  await readXml(zip.read(entry), {
    ...listener,
    open(name, attributes) {
      isHidden ||= name === 'sld' && /^(0|false)$/.test(attributes['show'] ?? '');
      listener.open?.(name, attributes);
    },
  });
  return isHidden;
}
