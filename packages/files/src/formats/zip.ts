import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { describeArchive } from './archive.js';
import { ContainedFiles, isArchiveName } from './contained-files.js';
import type { DescribeContained } from './contained-files.js';
import { describeEpub } from './epub.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';
import { NOT_READ } from './kinds-by-bytes.js';
import { describeDocument } from './word-document.js';
import { checkEncryption, mimeTypeOf, openDocumentOf } from './opendocument.js';
import { describePresentation } from './presentation.js';
import { officeDocumentOf } from './relationships.js';
import { describeWorkbook } from './workbook.js';
import { ZipArchive } from './zip-archive.js';
import { closedDocumentOf } from './zip-kinds.js';
import { layersOf } from '../tables/shape-layers.js';

/** Describes a ZIP file as an office document, if it is one, or else as an archive. */
export async function* describeZip(
  file: FileSource,
  limits: FilesLimits,
  describe: DescribeContained,
): Findings {
  const zip = await ZipArchive.open(file, limits);
  const office = await officeDocumentOf(zip);
  if (office) {
    const heading = headingOf(office.kind, file);
    if (office.kind === 'Word document') return yield* describeDocument(zip, office.main, heading);
    if (office.kind === 'Excel workbook') return yield* describeWorkbook(zip, office.main, heading);
    return yield* describePresentation(zip, office.main, heading);
  }
  const mimeType = await mimeTypeOf(zip);
  if (mimeType === 'application/epub+zip') return yield* describeEpub(zip, headingOf('E-book (EPUB)', file));
  const openDocument = openDocumentOf(mimeType);
  if (openDocument) {
    yield headingOf(openDocument.title, file);
    await checkEncryption(zip);
    return yield* openDocument.describe(zip);
  }
  const closed = closedDocumentOf(zip, file.name);
  if (closed) return yield `${headingOf(closed.title, file)}${NOT_READ} ${closed.hint}`;
  const more = zip.stopped !== undefined;
  const body = describeArchive(zip.entries, { more, packed: file.size, opened: layersOf(zip) });
  yield [`${headingOf('ZIP archive', file)}${body}`, ...zip.notes].join('\n\n');
  if (zip.stopped) throw zip.stopped;
  const contained = new ContainedFiles(file, describe);
  for (const { name, kind, encrypted } of zip.entries) {
    if (kind === 'folder' || encrypted || !isArchiveName(name)) continue;
    await contained.add(name, zip.read(name));
  }
  yield contained.text;
}
