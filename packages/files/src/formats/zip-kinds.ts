import type { NamedKind } from './kinds-by-bytes.js';
import { extensionOf } from './languages.js';
import type { ZipArchive } from './zip-archive.js';

const XLSB: NamedKind = { title: 'Excel binary workbook (XLSB)', hint: 'Save it as XLSX.' };
/** Documents of Apple's iWork, by the extension of their name. */
const IWORK = new Map<string, NamedKind>([
  ['pages', { title: 'Pages document (iWork)', hint: 'Save it as DOCX or PDF.' }],
  ['numbers', { title: 'Numbers spreadsheet (iWork)', hint: 'Save it as XLSX or CSV.' }],
  ['key', { title: 'Keynote presentation (iWork)', hint: 'Save it as PPTX or PDF.' }],
]);
const OTHER: NamedKind = { title: 'iWork document', hint: 'Save it as DOCX, XLSX, PPTX or PDF.' };

/** The kind of a ZIP archive that is a document which is not read here; undefined for others. @param name of the file */
export function closedDocumentOf(zip: ZipArchive, name: string): NamedKind | undefined {
  if (zip.has('xl/workbook.bin')) return XLSB;
  const isIwork = ['Index/Document.iwa', 'Index.zip', 'index.apxl'].some((entry) => zip.has(entry));
  return isIwork ? (IWORK.get(extensionOf(name)) ?? OTHER) : undefined;
}
