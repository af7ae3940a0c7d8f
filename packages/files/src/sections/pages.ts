import { headOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { LONGEST, openPdf, refusal, textOfPage, titlesOf } from '../formats/pdf.js';
import { textsOfPdf } from '../formats/pdf-texts.js';
import { notesOfSlide, slidesInOrder, textOfSlide } from '../formats/presentation.js';
import { CONTENT, openDocumentKind } from '../formats/opendocument.js';
import { openDocumentListener } from '../formats/opendocument-text.js';
import { officeDocumentOf } from '../formats/relationships.js';
import { readXml } from '../formats/xml.js';
import { ZipArchive } from '../formats/zip-archive.js';
import { PassageSink } from './passage-sink.js';

/** A document that consists of pages or slides. */
export interface Pages {
  what: 'page' | 'slide';
  count: number;
  /** The text of a page, which is at most a million characters. */
  text(number: number): Promise<string>;
  /** What only the speaker sees; pages have none. */
  notes?(number: number): Promise<string>;
  /** The texts of all pages in their order, where there is a faster way than one after another. */
  texts?(): AsyncGenerator<string>;
  /** Titles in their order, with the level from 0; none if the document has no outline of its own. */
  outline(): Promise<{ title: string; level: number }[]>;
  close?(): Promise<void>;
}

/** Slides of one entry, and characters of all of them, that are read. */
const MAX_SLIDES = 5000;
const MOST = 16 * 1024 * 1024;
/** Titles of an outline that are read. */
const TITLES = 200;

/** Opens a document with pages, and closes it afterwards. `use` gets undefined if the file is of another kind. */
export async function withPages<T>(
  file: FileSource,
  limits: FilesLimits,
  use: (pages: Pages | undefined) => Promise<T>,
): Promise<T> {
  const pages = await openPages(file, limits);
  try {
    return await use(pages);
  } finally {
    await pages?.close?.();
  }
}

/** Opens a document with pages, which must be closed; undefined if the file is of another kind. */
export async function openPages(file: FileSource, limits: FilesLimits): Promise<Pages | undefined> {
  const signature = Buffer.from((await headOf(file)).subarray(0, 5)).toString('latin1');
  if (signature === '%PDF-') return pagesOfPdf(file, limits);
  if (!signature.startsWith('PK\x03\x04')) return undefined;
  const zip = await ZipArchive.open(file, limits);
  const office = await officeDocumentOf(zip);
  if (office) return office.kind === 'PowerPoint presentation' ? slidesOf(zip, office.main) : undefined;
  return (await openDocumentKind(zip)) === 'presentation' ? openSlidesOf(zip) : undefined;
}

async function pagesOfPdf(file: FileSource, limits: FilesLimits): Promise<Pages> {
  const task = await openPdf(file, limits);
  const close = () => task.destroy();
  try {
    const pdf = await task.promise;
    const text = (number: number) => textOfPage(pdf, number, LONGEST).catch(refuse);
    return {
      what: 'page',
      count: pdf.numPages,
      text,
      texts: () => textsOfPdf(pdf, text, limits),
      outline: () => titlesOf(pdf, TITLES).catch(refuse),
      close,
    };
  } catch (error) {
    await close();
    return refuse(error);
  }
}

function refuse(error: unknown): never {
  throw refusal(error);
}

async function slidesOf(zip: ZipArchive, main: string): Promise<Pages> {
  const slides = await slidesInOrder(zip, main);
  return {
    what: 'slide',
    count: slides.length,
    text: (number) => textOfSlide(zip, slides[number - 1]!),
    notes: (number) => notesOfSlide(zip, slides[number - 1]!),
    outline: async () => [],
  };
}

/** All slides are in one entry. */
async function openSlidesOf(zip: ZipArchive): Promise<Pages> {
  const sink = new PassageSink({ slide: 0 });
  const listener = openDocumentListener(sink);
  let length = 0;
  await readXml(zip.read(CONTENT), {
    ...listener,
    open(name, attributes, tag) {
      if (name === 'page') sink.place.slide! += 1;
      listener.open?.(name, attributes, tag);
    },
    text(text) {
      length += text.length;
      listener.text?.(text);
    },
    isEnough: () => length > MOST || sink.place.slide! >= MAX_SLIDES,
  });
  const slides = Array.from({ length: sink.place.slide! }, () => ({ text: '', notes: '' }));
  for (const { place, text } of sink.take()) {
    const slide = slides[place.slide! - 1];
    if (slide) slide[place.aside === 'notes' ? 'notes' : 'text'] += `${text}\n`;
  }
  return {
    what: 'slide',
    count: slides.length,
    text: async (number) => slides[number - 1]!.text,
    notes: async (number) => slides[number - 1]!.notes,
    outline: async () => [],
  };
}
