import { clip, code, count, opening } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import type { Findings } from './findings.js';
import { relationshipsOf } from './relationships.js';
import { TextTally } from './text.js';
import { documentTitle } from './word-document.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

const SHOWN_SLIDES = 20;
const KEPT = 1000;
/** Slides that are read, at most. */
const MAX_SLIDES = 5000;

/** Describes a PowerPoint presentation (ECMA-376 PresentationML): slides and their text. */
export async function* describePresentation(zip: ZipArchive, heading: string): Findings {
  const slides = await slidesInOrder(zip);
  const tally = new TextTally();
  const lines: string[] = [];
  let beginning = '';
  const title = await documentTitle(zip);
  const stopped = await untilStopped(async () => {
    for (const [index, slide] of slides.entries()) {
      const { title, text } = await readSlide(zip, slide, tally);
      if (index < SHOWN_SLIDES) lines.push(`${index + 1}. ${title ? code(title) : '(without text)'}`);
      if (beginning.length < KEPT && text !== '') beginning += `${text}\n`;
    }
  });
  if (slides.length > SHOWN_SLIDES) lines.push(`\n(${count(slides.length - SHOWN_SLIDES, 'more slide')}.)`);
  const words = `${stopped ? 'at least ' : ''}${count(tally.words, 'word')}`;
  const facts = `${title ? `Title: ${code(title, 200)}. ` : ''}${count(slides.length, 'slide')}, ${words}.`;
  const parts = [facts];
  if (lines.length > 0) parts.push(lines.join('\n'));
  if (beginning !== '')
    parts.push(`Its text begins:\n\n${opening(beginning.trim(), beginning.length < KEPT && !stopped)}`);
  yield `${heading}${parts.join('\n\n')}`;
  if (stopped) throw stopped;
}

/** The entries of the slides. */
export async function slidesInOrder(zip: ZipArchive): Promise<string[]> {
  const part = 'ppt/presentation.xml';
  const targets = await relationshipsOf(zip, part);
  const slides: string[] = [];
  await readXml(zip.read(part), {
    open(name, attributes) {
      const target = name === 'sldId' ? targets.get(attributes['r:id'] ?? '') : undefined;
      if (target !== undefined && zip.has(target) && slides.length < MAX_SLIDES) slides.push(target);
    },
  });
  return slides;
}

/** Title (of the title's placeholder, or else the first line) and text of a slide, both shortened; all words are counted. */
async function readSlide(
  zip: ZipArchive,
  slide: string,
  tally: TextTally,
): Promise<{ title: string; text: string }> {
  let title = '';
  let text = '';
  let line = '';
  let inText = false;
  let inTitle = false;
  await readXml(zip.read(slide), {
    open(name, attributes) {
      if (name === 'sp') inTitle = false;
      if (name === 'ph') inTitle = attributes['type'] === 'title' || attributes['type'] === 'ctrTitle';
      if (name === 't') inText = true;
      if (name === 'br') line += ' ';
    },
    text(piece) {
      if (!inText) return;
      tally.add(piece);
      if (line.length < KEPT) line += piece.slice(0, KEPT);
    },
    close(name) {
      if (name === 't') inText = false;
      if (name !== 'p') return;
      tally.add('\n');
      if (inTitle && title === '') title = line.trim();
      if (line.trim() !== '' && text.length < KEPT) text += `${line}\n`;
      line = '';
    },
  });
  return { title: title || clip(text.split('\n')[0] ?? '', 80), text };
}
