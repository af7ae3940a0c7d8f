import { plain } from '../markdown.js';
import { relationshipsOf } from './relationships.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

/** Characters of a title that are kept. */
const KEPT = 1000;

/** The title in the entry with the properties of a document; empty if it has none. */
export async function titleIn(zip: ZipArchive, entry: string): Promise<string> {
  let title = '';
  let inTitle = false;
  await readXml(zip.read(entry), {
    open: (name) => (inTitle = name === 'title'),
    text(text) {
      if (inTitle && title.length < KEPT) title += text;
    },
    close: () => (inTitle = false),
  });
  return plain(title.trim(), 200);
}

/** The entries to which a part of an office document refers, and whose root element has one of these names. */
export async function relatedParts(zip: ZipArchive, part: string, roots: string[]): Promise<string[]> {
  const related = [...(await relationshipsOf(zip, part)).values()];
  const entries = new Set(related.map(({ target }) => target));
  const found: string[] = [];
  for (const entry of entries) {
    if (/\.xml$/i.test(entry) && zip.has(entry) && roots.includes(await rootOf(zip, entry)))
      found.push(entry);
  }
  return found;
}

async function rootOf(zip: ZipArchive, entry: string): Promise<string> {
  let root = '';
  await readXml(zip.read(entry), {
    open: (name) => (root ||= name),
    isEnough: () => root !== '',
  });
  return root;
}
