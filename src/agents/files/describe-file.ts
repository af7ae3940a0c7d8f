import { fileTypeFromBuffer } from 'file-type';
import { bytesOf, headOf } from './file-source.js';
import type { FileSource } from './file-source.js';
import type { FilesLimits } from './files-limits.js';
import { bytes } from './markdown.js';
import { describeBinary } from './formats/binary.js';
import { describeDelimited } from './formats/delimited.js';
import type { Description } from './formats/description.js';
import { legacyEncoding, unicodeEncoding } from './formats/encoding.js';
import type { Encoding } from './formats/encoding.js';
import { describeGzip } from './formats/gzip.js';
import { describeImage } from './formats/image.js';
import { describeJson } from './formats/json.js';
import { extensionOf, languageOf } from './formats/languages.js';
import { describePdf } from './formats/pdf.js';
import { describeTar } from './formats/tar.js';
import { describeTextFile } from './formats/text.js';
import { describeZip } from './formats/zip.js';

/**
 * Describes in Markdown what is in a file. The bytes decide what the file is. Only for text, the extension of its name
 * and the type that the caller declares decide which kind of text it is.
 *
 * @returns the whole answer except the file's name
 * @throws {UnreadableFile} if the file is broken, encrypted or exceeds a limit
 */
export async function describeFile(file: FileSource, limits: FilesLimits): Promise<string> {
  if (file.size === 0) return 'An empty file (0 bytes).';
  const { title, body } = await examine(file, limits);
  return `**${title}**, ${bytes(file.size)}. ${body}`;
}

async function examine(file: FileSource, limits: FilesLimits): Promise<Description> {
  const head = await headOf(file);
  // A PDF may consist of plain text only: it must be recognised before text is.
  if (beginsWith(head, '%PDF-')) return describePdf(file, limits);
  const unicode = unicodeEncoding(head, head.length === file.size);
  if (unicode) return describeAsText(file, unicode, head);
  if (beginsWith(head, 'PK\x03\x04') || beginsWith(head, 'PK\x05\x06')) return describeZip(file, limits);
  const type = await fileTypeFromBuffer(head);
  if (type?.mime === 'application/pdf') return describePdf(file, limits);
  if (type?.mime === 'application/gzip') return describeGzip(file, limits);
  if (type?.mime === 'application/x-tar') {
    return { title: 'tar archive', body: await describeTar(bytesOf(file), limits) };
  }
  if (type?.mime.startsWith('image/')) return describeImage(file, type.mime);
  const legacy = type ? undefined : legacyEncoding(head);
  return legacy ? describeAsText(file, legacy, head) : describeBinary(file, type);
}

async function describeAsText(file: FileSource, encoding: Encoding, head: Uint8Array): Promise<Description> {
  const text = new TextDecoder(encoding.label).decode(head).trimStart();
  if (/^(<\?xml[^>]*>\s*|<!--[^]*?-->\s*|<!DOCTYPE svg[^>]*>\s*)*<svg[\s>]/.test(text.slice(0, 4096))) {
    return describeImage(file, 'image/svg+xml');
  }
  const labels = labelsOf(file);
  if (labels.json || (labels.none && looksLikeJson(text))) return describeJson(file, encoding);
  if (labels.table) return describeDelimited(file, encoding);
  return describeTextFile(file, encoding);
}

/** The kind of text that a file's extension states or, if the extension is not known, its declared type. */
function labelsOf(file: FileSource): { json: boolean; table: boolean; none: boolean } {
  const extension = extensionOf(file.name);
  const language = languageOf(file.name);
  if (language) return { json: language.name === 'JSON', table: false, none: false };
  if (['csv', 'tsv', 'tab', 'psv'].includes(extension)) return { json: false, table: true, none: false };
  const type = file.mimeType.split(';')[0]!.trim().toLowerCase();
  const json = /^application\/(.+\+)?(json|x-ndjson|ndjson|jsonl|json-seq)$/.test(type);
  const table = /^text\/(csv|tab-separated-values)$/.test(type);
  return { json, table, none: !json && !table };
}

function looksLikeJson(text: string): boolean {
  return (
    /^(\{\s*("|\}\s*$)|\[\s*([[{"\d-]|\]\s*$))/.test(text.slice(0, 1000)) && !/^\[[^\]"{[]*\]\s*\S/.test(text)
  );
}

function beginsWith(head: Uint8Array, signature: string): boolean {
  return Buffer.from(head.subarray(0, signature.length)).toString('latin1') === signature;
}
