import { createHash } from 'node:crypto';
import { bytesOf, headOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { untilStopped } from '../reading-stopped.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';
import { COMPOUND_KINDS, kindByBytes, NOT_READ, SEND_OTHER } from './kinds-by-bytes.js';
import type { NamedKind } from './kinds-by-bytes.js';

/** The container of older Office documents (MS-CFB), and of encrypted documents in the new formats. */
const COMPOUND = 'application/x-cfb';
/** The name of an encrypted document's stream (MS-OFFCRYPTO 2.3.4.4). */
const ENCRYPTED_PACKAGE = 'EncryptedPackage';
const STREAMS = [ENCRYPTED_PACKAGE, ...COMPOUND_KINDS.map(([stream]) => stream)];
/** Names in the container are UTF-16. */
const IN_CONTAINER = STREAMS.map((stream) => ({ stream, bytes: Buffer.from(stream, 'utf16le') }));
const LONGEST = Math.max(...IN_CONTAINER.map(({ bytes }) => bytes.length));

/** What is compressed in a way that is not undone here. */
const PACKED =
  /^application\/(zstd|vnd.ms-cab-compressed|x-(bzip2|xz|7z-compressed|rar-compressed|lzip|lz4|compress|rpm|deb))$/;

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
  const streams = new Set<string>();
  let tail: Uint8Array = new Uint8Array();
  const stopped = await untilStopped(async () => {
    for await (const chunk of bytesOf(file)) {
      hash.update(chunk);
      if (type?.mime !== COMPOUND) continue;
      const joined = Buffer.concat([tail, chunk]);
      for (const { stream, bytes } of IN_CONTAINER) if (joined.includes(bytes)) streams.add(stream);
      tail = joined.subarray(-LONGEST);
    }
  });
  const known = type?.mime === COMPOUND ? undefined : kindByBytes(await headOf(file));
  const { title, finding } = known ? named(known) : kindOf(type, streams);
  yield `${headingOf(title, file)}${finding}`;
  if (stopped) throw stopped;
  yield `\n\nSHA-256: \`${hash.digest('hex')}\``;
}

function named({ title, hint }: NamedKind): { title: string; finding: string } {
  return { title, finding: `${NOT_READ} ${hint}` };
}

function kindOf(
  type: { mime: string; ext: string } | undefined,
  streams: Set<string>,
): { title: string; finding: string } {
  if (streams.has(ENCRYPTED_PACKAGE)) {
    return {
      title: 'Encrypted Office document',
      finding: 'This document is encrypted: it opens with its password only.',
    };
  }
  if (type?.mime === COMPOUND) {
    const kind = COMPOUND_KINDS.find(([stream]) => streams.has(stream))?.[1];
    return named(
      kind ?? { title: 'Compound file, such as an older document', hint: 'Save it in a current format.' },
    );
  }
  if (!type) return { title: 'Binary file', finding: `${NOT_READ} ${SEND_OTHER}` };
  const hint = PACKED.test(type.mime)
    ? 'It is not unpacked here: send what is in it, or pack that with gzip or ZIP.'
    : `${NOT_READ} ${SEND_OTHER}`;
  return { title: `${type.ext.toUpperCase()} file`, finding: `Type: \`${type.mime}\`. ${hint}` };
}
