import { createHash } from 'node:crypto';
import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { untilStopped } from '../reading-stopped.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';

/** The container of older Office documents (MS-CFB), and of encrypted documents in the new formats. */
const COMPOUND = 'application/x-cfb';
/** The name of an encrypted document's stream (MS-OFFCRYPTO 2.3.4.4); names in the container are UTF-16. */
const ENCRYPTED_PACKAGE = Buffer.from('EncryptedPackage', 'utf16le');

/** What is compressed in a way that is not undone here. */
const PACKED = /^application\/(zstd|x-(bzip2|xz|7z-compressed|rar-compressed|lzip|lz4|compress))$/;

/**
 * Describes any file by its digest and, if it is known, its type.
 *
 * @param type the type that the bytes show, if they show one
 */
export async function* describeBinary(
  file: FileSource,
  type: { mime: string; ext: string } | undefined,
): Findings {
  const hash = createHash('sha256');
  let encrypted = false;
  let tail: Uint8Array = new Uint8Array();
  const stopped = await untilStopped(async () => {
    for await (const chunk of bytesOf(file)) {
      hash.update(chunk);
      if (type?.mime !== COMPOUND || encrypted) continue;
      encrypted = Buffer.concat([tail, chunk]).includes(ENCRYPTED_PACKAGE);
      tail = chunk.subarray(-ENCRYPTED_PACKAGE.length);
    }
  });
  const { title, finding } = kindOf(type, encrypted);
  yield `${headingOf(title, file)}${finding}`;
  if (stopped) throw stopped;
  yield `\n\nSHA-256: \`${hash.digest('hex')}\``;
}

function kindOf(
  type: { mime: string; ext: string } | undefined,
  encrypted: boolean,
): { title: string; finding: string } {
  if (encrypted) {
    return {
      title: 'Encrypted Office document',
      finding: 'This document is encrypted: it opens with its password only.',
    };
  }
  if (type?.mime === COMPOUND) {
    return {
      title: 'Compound file, such as an older Office document (doc, xls, ppt)',
      finding: `Type: \`${COMPOUND}\`. Its text is not read here: save it in the current format (docx, xlsx, pptx) for that.`,
    };
  }
  if (!type) return { title: 'Binary file', finding: 'Its type cannot be told from its bytes.' };
  const hint = PACKED.test(type.mime)
    ? ' It is not unpacked here: send what is in it, or pack that with gzip or ZIP.'
    : '';
  return { title: `${type.ext.toUpperCase()} file`, finding: `Type: \`${type.mime}\`.${hint}` };
}
