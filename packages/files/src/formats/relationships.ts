import { posix } from 'node:path';
import { code } from '../markdown.js';
import { UnreadableFile } from '../unreadable-file.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

/** A part of an office document to which another part refers. */
export interface Relationship {
  /** The last word of its type, such as `worksheet`. */
  type: string;
  /** The name of the entry, which may be missing. */
  target: string;
}

/** A document of Office. */
export interface OfficeDocument {
  kind: 'Word document' | 'Excel workbook' | 'PowerPoint presentation';
  /** The entry of its main part. */
  main: string;
}

const KINDS: { kind: OfficeDocument['kind']; usual: string; contentType: RegExp }[] = [
  { kind: 'Word document', usual: 'word/document.xml', contentType: /wordprocessingml|ms-word|^word\//i },
  { kind: 'Excel workbook', usual: 'xl/workbook.xml', contentType: /spreadsheetml|ms-excel|^xl\//i },
  {
    kind: 'PowerPoint presentation',
    usual: 'ppt/presentation.xml',
    contentType: /presentationml|ms-powerpoint|^ppt\//i,
  },
];

/**
 * The kind of a document of Office, and its main part, whatever its name is (ECMA-376 part 2, 8 and 9.3.6.5); undefined if the
 * archive is none.
 *
 * @throws {UnreadableFile} if the main part is missing
 */
export async function officeDocumentOf(zip: ZipArchive): Promise<OfficeDocument | undefined> {
  const relationships = await relationshipsOf(zip, '');
  const main = [...relationships.values()].find(({ type }) => type === 'officeDocument')?.target;
  const stated = main === undefined ? '' : await contentTypeOf(zip, main);
  const known = /[+.]xml$/i.test(stated)
    ? KINDS.find(({ contentType }) => contentType.test(stated))
    : undefined;
  if (known && zip.has(main!)) return { kind: known.kind, main: main! };
  // Some programs write a part of the usual name and no relationships.
  const usual = KINDS.find((each) => zip.has(each.usual));
  if (usual) return { kind: usual.kind, main: usual.usual };
  if (known)
    throw new UnreadableFile(`This ${known.kind} is broken: its main part ${code(main!)} is missing.`);
  return undefined;
}

/**
 * Finds the parts to which a part of an office document refers (ECMA-376 part 2, 8.5).
 *
 * @param part name of the entry that refers to others; empty for those of the document itself
 * @returns by relationship id
 */
export async function relationshipsOf(zip: ZipArchive, part: string): Promise<Map<string, Relationship>> {
  const found = new Map<string, Relationship>();
  const folder = posix.dirname(part);
  await readXml(zip.read(posix.join(folder, '_rels', `${posix.basename(part)}.rels`)), {
    open(name, { Id, Type = '', Target, TargetMode }) {
      if (name !== 'Relationship' || Id === undefined || Target === undefined || TargetMode === 'External')
        return;
      const target = posix.resolve('/', folder, Target).slice(1);
      if (found.size < 10_000) found.set(Id, { type: posix.basename(Type), target });
    },
  });
  return found;
}

/** The entry of the first part of a type to which a part refers, or else its usual entry. */
export async function relatedPart(zip: ZipArchive, part: string, wanted: string): Promise<string> {
  const parts = [...(await relationshipsOf(zip, part)).values()];
  return (
    parts.find(({ type }) => type === wanted)?.target ?? posix.join(posix.dirname(part), `${wanted}.xml`)
  );
}

/** The content type of a part; its name if the document does not state it. */
async function contentTypeOf(zip: ZipArchive, part: string): Promise<string> {
  let stated = part;
  await readXml(zip.read('[Content_Types].xml'), {
    open(_name, { PartName, ContentType = '' }) {
      if (PartName?.toLowerCase() === `/${part}`.toLowerCase()) stated = ContentType;
    },
  });
  return stated;
}
