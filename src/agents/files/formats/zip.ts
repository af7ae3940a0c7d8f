import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { describeArchive } from './archive.js';
import type { Description } from './description.js';
import { describeDocument } from './word-document.js';
import { describePresentation } from './presentation.js';
import { describeWorkbook } from './workbook.js';
import { ZipArchive } from './zip-archive.js';

/** Describes a ZIP file as an office document, if it is one, or else as an archive. */
export async function describeZip(file: FileSource, limits: FilesLimits): Promise<Description> {
  const zip = await ZipArchive.open(file, limits);
  if (zip.has('word/document.xml')) return describeDocument(zip);
  if (zip.has('xl/workbook.xml')) return describeWorkbook(zip);
  if (zip.has('ppt/presentation.xml')) return describePresentation(zip);
  return {
    title: 'ZIP archive',
    body: describeArchive(zip.entries, { more: zip.more, packed: file.size }),
  };
}
