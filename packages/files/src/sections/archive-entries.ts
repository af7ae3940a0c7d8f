import type { Email } from 'postal-mime';
import { bytesOf, headOf, MemoryFile, wholeOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { fileTypeOf } from '../file-type.js';
import type { FilesLimits } from '../files-limits.js';
import { decoderOf } from '../formats/code-pages.js';
import { certainEncoding, guessedEncoding, typeInside } from '../formats/encoding.js';
import { gunzipped, headOfGzip } from '../formats/gzip.js';
import { readMail } from '../formats/mail.js';
import { messagesOf } from '../formats/mailbox.js';
import { officeDocumentOf } from '../formats/relationships.js';
import { TarReader } from '../formats/tar-reader.js';
import { kindOfText } from '../formats/text-kinds.js';
import { ZipArchive } from '../formats/zip-archive.js';
import { closedDocumentOf } from '../formats/zip-kinds.js';
import { bytes } from '../markdown.js';
import { tooManyEntries } from '../reading-stopped.js';
import { UnreadableFile } from '../unreadable-file.js';

/** A file of an archive. */
export interface ArchiveFile {
  name: string;
  /** Unpacks it. @throws {UnreadableFile} if it is too large or broken */
  open: () => Promise<MemoryFile>;
}

/** The files of a ZIP or tar archive, those in an e-mail, or the messages of a mailbox, one after another; undefined if the file has none. */
export async function archiveFiles(
  file: FileSource,
  limits: FilesLimits,
): Promise<AsyncGenerator<ArchiveFile> | undefined> {
  const head = await headOf(file);
  const signature = Buffer.from(head.subarray(0, 4)).toString('latin1');
  if (signature === 'PK\x03\x04') {
    const zip = await ZipArchive.open(file, limits);
    // Documents of Office, OpenDocument and EPUB are ZIP files that are no archives for their users.
    const isDocument =
      zip.has('mimetype') ||
      closedDocumentOf(zip, file.name) !== undefined ||
      (await officeDocumentOf(zip)) !== undefined;
    return isDocument ? undefined : zipFiles(zip, file, limits);
  }
  if (signature.startsWith('\x1f\x8b')) {
    const isTar = (await fileTypeOf(await headOfGzip(file, limits)))?.mime === 'application/x-tar';
    return isTar ? tarFiles(gunzipped(file, limits), file, limits) : undefined;
  }
  const kind = await textKindIn(file, head);
  if (kind === 'e-mail') return filesOfMail(file, limits);
  if (kind === 'mailbox') return inTurn(await messagesOf(file, limits));
  const isTar = (await fileTypeOf(head))?.mime === 'application/x-tar';
  return isTar ? tarFiles(bytesOf(file), file, limits) : undefined;
}

/** The kind of a file that is a text of a kind with a reader of its own; undefined for others. @param head how it begins */
export async function textKindIn(file: FileSource, head: Uint8Array): Promise<ReturnType<typeof kindOfText>> {
  const encoding = certainEncoding(file.mimeType, head, false) ?? (await guessedEncoding(head));
  const text = encoding && decoderOf(encoding.label).decode(head, { stream: true });
  return text === undefined ? undefined : kindOfText(file, text.trimStart());
}

async function* inTurn(files: ArchiveFile[]): AsyncGenerator<ArchiveFile> {
  yield* files;
}

async function filesOfMail(
  file: FileSource,
  limits: FilesLimits,
): Promise<AsyncGenerator<ArchiveFile> | undefined> {
  const { attachments } = (await readMail(file, limits)).mail;
  return attachments.length > 0 ? attachedFiles(attachments, file) : undefined;
}

async function* attachedFiles(
  attachments: Email['attachments'],
  file: FileSource,
): AsyncGenerator<ArchiveFile> {
  for (const { filename, mimeType, content } of attachments) {
    const name = filename ?? 'attachment';
    const bytes = typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content as ArrayBuffer);
    yield { name, open: async () => new MemoryFile(name, bytes, file, mimeType) };
  }
}

async function* zipFiles(
  zip: ZipArchive,
  file: FileSource,
  limits: FilesLimits,
): AsyncGenerator<ArchiveFile> {
  for (const { name, kind } of zip.entries) {
    if (kind === 'file') yield { name, open: () => unpack(name, zip.read(name), file, limits) };
  }
}

async function* tarFiles(
  chunks: AsyncIterable<Uint8Array>,
  file: FileSource,
  limits: FilesLimits,
): AsyncGenerator<ArchiveFile> {
  const reader = new TarReader(chunks, file.mimeType);
  let count = 0;
  for await (const { name, kind, isSparse } of reader.entries()) {
    count += 1;
    if (count > limits.entries) throw tooManyEntries(limits.entries);
    if (kind === 'file' && !isSparse)
      yield { name, open: () => unpack(name, reader.contents(), file, limits) };
  }
}

async function unpack(
  name: string,
  chunks: AsyncIterable<Uint8Array>,
  file: FileSource,
  limits: FilesLimits,
): Promise<MemoryFile> {
  const largest = (limits.memoryMiB * 1024 * 1024) / 8;
  const whole = await wholeOf(chunks, largest);
  if (!whole) throw new UnreadableFile(`Only entries up to ${bytes(largest)} are opened here.`);
  return new MemoryFile(name.slice(name.lastIndexOf('/') + 1), whole, file, typeInside(file.mimeType));
}
