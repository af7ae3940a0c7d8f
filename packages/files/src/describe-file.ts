import { bytesOf, headOf } from './file-source.js';
import type { FileSource } from './file-source.js';
import { fileTypeOf } from './file-type.js';
import type { FilesLimits } from './files-limits.js';
import { describeBinary } from './formats/binary.js';
import { LEVELS } from './formats/contained-files.js';
import type { DescribeContained } from './formats/contained-files.js';
import { headingOf } from './formats/findings.js';
import type { Findings } from './formats/findings.js';
import { decoderOf } from './formats/code-pages.js';
import { certainEncoding, guessedEncoding } from './formats/encoding.js';
import type { Encoding } from './formats/code-pages.js';
import { describeGzip } from './formats/gzip.js';
import { describeImage } from './formats/image.js';
import { describeJson } from './formats/json.js';
import { describeMedia, isMedia } from './formats/media.js';
import { describePdf } from './formats/pdf.js';
import { describeSvg, rootTagOfSvg } from './formats/svg.js';
import { describeTar } from './formats/tar.js';
import { textKindOf } from './formats/text-kind.js';
import { describeTextFile } from './formats/text.js';
import { describeTextKind } from './formats/text-kinds.js';
import { describeZip } from './formats/zip.js';
import { ReadingStopped } from './reading-stopped.js';
import {
  describeDatabase,
  describeDelimited,
  describeMore,
  describeParquet,
  describeSheets,
  describeTables,
} from './tables/describe-tables.js';
import { isOffered, readMore } from './tables/more-tables.js';
import type { Workspace } from './tables/workspace.js';
import { UnreadableFile } from './unreadable-file.js';

/**
 * Describes in Markdown what is in a file. The bytes decide what the file is. Only for text, the extension of its name
 * and the type that the caller declares decide which kind of text it is.
 *
 * @param workspace where files may be kept that an engine reads by their path
 * @param level how many files it is in, plus one
 * @returns the answer except the file's name, in pieces: what is known early comes first. The same file gives the same pieces
 * @throws {UnreadableFile} if the file is broken, encrypted or exceeds a limit
 */
export async function* describeFile(
  file: FileSource,
  limits: FilesLimits,
  workspace: Workspace,
  level = 1,
): Findings {
  if (level > LEVELS) throw new UnreadableFile(`No more than ${LEVELS} levels of files in files are opened.`);
  if (file.size === 0) return yield 'An empty file (0 bytes).';
  let hasFindings = false;
  try {
    for await (const piece of examine(file, limits, workspace, level)) {
      yield piece;
      hasFindings = true;
    }
  } catch (error) {
    if (!(error instanceof ReadingStopped) && !(hasFindings && error instanceof UnreadableFile)) throw error;
    yield hasFindings ? `\n\n${error.message}` : error.message;
  }
}

async function* examine(
  file: FileSource,
  limits: FilesLimits,
  workspace: Workspace,
  level: number,
): Findings {
  const describe = (contained: FileSource) =>
    describeFile(contained, limitsOfContained(limits), workspace, level + 1);
  const head = await headOf(file);
  // A PDF may consist of plain text only: it must be recognised before text is.
  if (beginsWith(head, '%PDF-')) return yield* describePdf(file, limits);
  const offered = isOffered(file, head) ? await readMore(file) : undefined;
  if (offered) return yield* describeMore(file, offered, limits, workspace);
  const unicode = certainEncoding(file.mimeType, head, head.length === file.size);
  if (unicode) return yield* describeAsText(file, unicode, head, limits, workspace, describe);
  if (beginsWith(head, 'PK\x03\x04') || beginsWith(head, 'PK\x05\x06')) {
    yield* describeZip(file, limits, describe);
    return yield* describeSheets(file, limits, workspace);
  }
  if (beginsWith(head, 'PAR1')) return yield* describeParquet(file, limits, workspace);
  if (beginsWith(head, 'SQLite format 3\0')) return yield* describeDatabase(file, limits, workspace);
  const type = await fileTypeOf(head);
  if (type?.mime === 'application/pdf') return yield* describePdf(file, limits);
  if (type?.mime === 'application/gzip') {
    yield* describeGzip(file, limits, describe);
    return yield* describeTables(file, limits, workspace);
  }
  if (type?.mime === 'application/x-tar') {
    const source = { file, chunks: bytesOf(file), heading: headingOf('tar archive', file) };
    return yield* describeTar(source, limits, describe);
  }
  if (type && isMedia(type.mime)) return yield* describeMedia(file, type);
  if (type?.mime.startsWith('image/')) return yield* describeImage(file, type.mime);
  const isText = !type || /^text\/|xml$|rtf$/.test(type.mime);
  const guessed = isText ? await guessedEncoding(head) : undefined;
  if (guessed) return yield* describeAsText(file, guessed, head, limits, workspace, describe);
  const read = await readMore(file);
  if (read) return yield* describeMore(file, read, limits, workspace);
  yield* describeBinary(file, type);
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
  workspace: Workspace,
  describe: DescribeContained,
): Findings {
  const text = decoderOf(encoding.label).decode(head, { stream: true });
  const kind = textKindOf(file, text);
  if (kind === 'svg') return yield* describeSvg(file, rootTagOfSvg(text.trimStart())!);
  const described = describeTextKind({ file, encoding, beginning: text.trimStart() }, limits, describe);
  if (described) return yield* described;
  switch (kind) {
    case 'json':
      yield* describeJson(file, encoding);
      return yield* describeTables(file, limits, workspace);
    case 'table':
      return yield* describeDelimited(file, encoding, limits, workspace);
    case 'text':
      return yield* describeTextFile(file, encoding);
  }
}

function beginsWith(head: Uint8Array, signature: string): boolean {
  return Buffer.from(head.subarray(0, signature.length)).toString('latin1') === signature;
}
