/** Texts, sizes and entries as readers of others see them. */
import { readFile } from 'node:fs/promises';
import { PDFiumLibrary } from '@hyzyla/pdfium';
import { strFromU8, unzipSync } from 'fflate';
import mammoth from 'mammoth';
import { parse } from 'parse5';
import probe from 'probe-image-size';

/** The text of a file of each kind. */
export const TEXTS = {
  DOCX: async (path) => (await mammoth.extractRawText({ path })).value,
  'ODT, ODP': (path) => textInZip(path, /^content\.xml$/),
  PPTX: (path) => textInZip(path, /^ppt\/slides\/slide\d+\.xml$/),
  EPUB: (path) => textInZip(path, /\.x?html?$/),
  PDF: pdf,
  HTML: async (path) => textOfMarkup(decoded(await readFile(path))),
  text: async (path) => decoded(await readFile(path)),
};

/** What the description of a file of each kind must say; undefined if the other reader does not know. */
export const FACTS = {
  images: async (path) => {
    const size = probe.sync(await readFile(path));
    return size && `${size.width} × ${size.height} pixels`;
  },
  archives: async (path) => {
    if (!path.endsWith('.zip')) return undefined;
    const files = Object.keys(unzipSync(await readFile(path))).filter((name) => !name.endsWith('/'));
    return `${files.length} ${files.length === 1 ? 'file' : 'files'}`;
  },
};

/** What PDFium gives for a hyphen at the end of a line. */
const HYPHEN = '\ufffe';

async function pdf(path) {
  const library = await PDFiumLibrary.init();
  try {
    const document = await library.loadDocument(await readFile(path));
    return [...document.pages()].map((page) => page.getText().replaceAll(HYPHEN, '-')).join('\n');
  } finally {
    library.destroy();
  }
}

async function textInZip(path, wanted) {
  const parts = unzipSync(await readFile(path), { filter: ({ name }) => wanted.test(name) });
  return Object.values(parts)
    .map((bytes) => textOfMarkup(strFromU8(bytes)))
    .join('\n');
}

/** Elements after which a word ends, in HTML, DrawingML and OpenDocument. */
const BLOCKS =
  /^(?:p|div|li|dt|dd|h[1-6]|t[dhr]|br|pre|option|a:p|a:br|text:[phs]|text:tab|text:line-break|table:.*)$/;
/** What a page does not show as its text, and the fields of a form. */
const HIDDEN =
  /^(?:script|style|head|template|noscript|select|textarea|svg|math|iframe|rt|rp|office:annotation|a:tablestyleid)$/;

function textOfMarkup(markup) {
  return textOfNode(parse(markup.replace(/<([\w:]+)([^<>]*)\/>/g, '<$1$2></$1>')));
}

function textOfNode({ nodeName, value = '', childNodes = [] }) {
  if (HIDDEN.test(nodeName)) return '';
  const text = nodeName === '#text' ? value : childNodes.map(textOfNode).join('');
  return BLOCKS.test(nodeName) ? ` ${text} ` : text;
}

/** The text of bytes: UTF-8, and Windows-1252 where they are not. */
export function decoded(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}
