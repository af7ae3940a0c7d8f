import { createHash } from 'node:crypto';
import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import type { Description } from './description.js';

/** Office's old container (MS-CFB), in which encrypted documents of the new formats are wrapped too. */
const COMPOUND = 'application/x-cfb';
/** MS-OFFCRYPTO 2.3.4.4: the stream of an encrypted document; names in the container are UTF-16. */
const ENCRYPTED_PACKAGE = Buffer.from('EncryptedPackage', 'utf16le');

/**
 * Describes any file: by its digest, and by its type where the bytes tell it.
 *
 * @param type what the bytes are, if that is known
 */
export async function describeBinary(
  file: FileSource,
  type: { mime: string; ext: string } | undefined,
): Promise<Description> {
  const hash = createHash('sha256');
  let encrypted = false;
  let tail: Uint8Array = new Uint8Array();
  for await (const chunk of bytesOf(file)) {
    hash.update(chunk);
    if (type?.mime !== COMPOUND || encrypted) continue;
    encrypted = Buffer.concat([tail, chunk]).includes(ENCRYPTED_PACKAGE);
    tail = chunk.subarray(-ENCRYPTED_PACKAGE.length);
  }
  const digest = `SHA-256: \`${hash.digest('hex')}\``;
  if (encrypted) {
    return {
      title: 'Encrypted Office document',
      mimeType: COMPOUND,
      body: `This document is encrypted: it opens with its password only.\n\n${digest}`,
    };
  }
  if (type?.mime === COMPOUND) {
    return {
      title: 'Compound file, such as an older Office document (doc, xls, ppt)',
      mimeType: COMPOUND,
      body: `Type: \`${COMPOUND}\`. Its text is not read here: save it in the current format (docx, xlsx, pptx) for that.\n\n${digest}`,
    };
  }
  if (!type) return { title: 'Binary file', body: `Its type cannot be told from its bytes.\n\n${digest}` };
  return {
    title: `${type.ext.toUpperCase()} file`,
    mimeType: type.mime,
    body: `Type: \`${type.mime}\`.\n\n${digest}`,
  };
}
