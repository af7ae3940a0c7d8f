import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { describeArchive } from './archive.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';
import { describeDocument } from './word-document.js';
import { describePresentation } from './presentation.js';
import { describeWorkbook } from './workbook.js';
import { ZipArchive } from './zip-archive.js';

/** Describes a ZIP file as an office document, if it is one, or else as an archive. */
export async function* describeZip(file: FileSource, limits: FilesLimits): Findings {
  const zip = await ZipArchive.open(file, limits);
  if (zip.has('word/document.xml')) return yield* describeDocument(zip, headingOf('Word document', file));
  if (zip.has('xl/workbook.xml')) return yield* describeWorkbook(zip, headingOf('Excel workbook', file));
  if (zip.has('ppt/presentation.xml')) {
    return yield* describePresentation(zip, headingOf('PowerPoint presentation', file));
  }
  const body = describeArchive(zip.entries, { more: zip.stopped !== undefined, packed: file.size });
  yield `${headingOf('ZIP archive', file)}${body}`;
  if (zip.stopped) throw zip.stopped;
}
