import iconv from 'iconv-lite';

/** Code pages of DOS that `TextDecoder` does not know. Each of their bytes is a character. */
const CODE_PAGE = /^(?:cp|ibm)?(437|737|775|85[0-25-8]|86[0-35])$/i;

/** Decodes bytes, piece by piece as `TextDecoder` does. */
export interface Decoder {
  decode(bytes?: Uint8Array, options?: { stream?: boolean }): string;
}

/** The name of an encoding for `decoderOf`; undefined if there is no such encoding. */
export function labelOf(charset: string): string | undefined {
  const [, page] = CODE_PAGE.exec(charset) ?? [];
  if (page !== undefined) return `cp${page}`;
  try {
    return new TextDecoder(charset).encoding;
  } catch {
    return undefined;
  }
}

/** A decoder. @param label a name as `labelOf` gives it */
export function decoderOf(label: string): Decoder {
  if (label === 'windows-1252') {
    const decoder = new TextDecoder(label);
    // In one piece, Node 20 decodes it as ISO-8859-1.
    return { decode: (bytes) => decoder.decode(bytes, { stream: true }) };
  }
  if (!CODE_PAGE.test(label)) return new TextDecoder(label);
  return { decode: (bytes) => (bytes ? iconv.decode(Buffer.from(bytes), label) : '') };
}
