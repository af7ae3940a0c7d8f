import { fileTypeFromBuffer } from 'file-type';
import { bytesOf, headOf } from './file-source.js';
import type { FileSource } from './file-source.js';
import type { FilesLimits } from './files-limits.js';
import { describeBinary } from './formats/binary.js';
import { LEVELS } from './formats/contained-files.js';
import type { DescribeContained } from './formats/contained-files.js';
import { describeDelimited } from './formats/delimited.js';
import { headingOf } from './formats/findings.js';
import type { Findings } from './formats/findings.js';
import { legacyEncoding, unicodeEncoding } from './formats/encoding.js';
import type { Encoding } from './formats/encoding.js';
import { describeGzip } from './formats/gzip.js';
import { describeImage } from './formats/image.js';
import { describeJson } from './formats/json.js';
import { extensionOf, languageOf } from './formats/languages.js';
import { describeMedia, isMedia } from './formats/media.js';
import { describePdf } from './formats/pdf.js';
import { describeSvg, rootTagOfSvg } from './formats/svg.js';
import { describeTar } from './formats/tar.js';
import { describeTextFile } from './formats/text.js';
import { describeTextKind } from './formats/text-kinds.js';
import { describeZip } from './formats/zip.js';
import { ReadingStopped } from './reading-stopped.js';
import { UnreadableFile } from './unreadable-file.js';

/**
 * Describes in Markdown what is in a file. The bytes decide what the file is. Only for text, the extension of its name
 * and the type that the caller declares decide which kind of text it is.
 *
 * @param level how many files it is in, plus one
 * @returns the answer except the file's name, in pieces: what is known early comes first. The same file gives the same pieces
 * @throws {UnreadableFile} if the file is broken, encrypted or exceeds a limit
 */
export async function* describeFile(file: FileSource, limits: FilesLimits, level = 1): Findings {
  if (level > LEVELS) throw new UnreadableFile(`No more than ${LEVELS} levels of files in files are opened.`);
  if (file.size === 0) return yield 'An empty file (0 bytes).';
  let hasFindings = false;
  try {
    for await (const piece of examine(file, limits, level)) {
      yield piece;
      hasFindings = true;
    }
  } catch (error) {
    if (!(error instanceof ReadingStopped) && !(hasFindings && error instanceof UnreadableFile)) throw error;
    yield hasFindings ? `\n\n${error.message}` : error.message;
  }
}

async function* examine(file: FileSource, limits: FilesLimits, level: number): Findings {
  const describe = (contained: FileSource) => describeFile(contained, limitsOfContained(limits), level + 1);
  const head = await headOf(file);
  // A PDF may consist of plain text only: it must be recognised before text is.
  if (beginsWith(head, '%PDF-')) return yield* describePdf(file, limits);
  const unicode = unicodeEncoding(head, head.length === file.size);
  if (unicode) return yield* describeAsText(file, unicode, head, limits, describe);
  if (beginsWith(head, 'PK\x03\x04') || beginsWith(head, 'PK\x05\x06'))
    return yield* describeZip(file, limits, describe);
  const type = await fileTypeFromBuffer(head);
  if (type?.mime === 'application/pdf') return yield* describePdf(file, limits);
  if (type?.mime === 'application/gzip') return yield* describeGzip(file, limits, describe);
  if (type?.mime === 'application/x-tar') {
    const source = { file, chunks: bytesOf(file), heading: headingOf('tar archive', file) };
    return yield* describeTar(source, limits, describe);
  }
  if (type && isMedia(type.mime)) return yield* describeMedia(file, type);
  if (type?.mime.startsWith('image/')) return yield* describeImage(file, type.mime);
  const legacy = type ? undefined : legacyEncoding(head);
  yield* legacy ? describeAsText(file, legacy, head, limits, describe) : describeBinary(file, type);
}

/** A file in another one may cost a part of what that one may. Its time is that of the other one. */
function limitsOfContained(limits: FilesLimits): FilesLimits {
  return { ...limits, expandedMiB: limits.expandedMiB / 8, entries: Math.ceil(limits.entries / 8) };
}

async function* describeAsText(
  file: FileSource,
  encoding: Encoding,
  head: Uint8Array,
  limits: FilesLimits,
  describe: DescribeContained,
): Findings {
  const text = new TextDecoder(encoding.label).decode(head).trimStart();
  const svg = rootTagOfSvg(text);
  if (svg !== undefined) return yield* describeSvg(file, svg);
  const kind = describeTextKind({ file, encoding, beginning: text }, limits, describe);
  if (kind) return yield* kind;
  const labels = labelsOf(file);
  if (labels.json || (labels.none && looksLikeJson(text))) return yield* describeJson(file, encoding);
  yield* labels.table ? describeDelimited(file, encoding) : describeTextFile(file, encoding);
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
