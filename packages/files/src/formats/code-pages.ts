import iconv from 'iconv-lite';

/** Code pages of DOS that `TextDecoder` does not know. Each of their bytes is a character. */
const CODE_PAGE = /^(?:cp|ibm)?(437|737|775|85[0-25-8]|86[0-35])$/i;

/** Encodings of which `TextDecoder` knows no name of the form `cp932`, by their number, and others that it does not know so. */
const NAMES: Record<string, string> = {
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  10000: 'macintosh',
  54936: 'gb18030',
  65001: 'utf-8',
  macroman: 'macintosh',
  'utf-32': 'utf-32le',
};
const UTF_32 = /^utf-32[lb]e$/;

/** Decodes bytes, piece by piece as `TextDecoder` does. */
export interface Decoder {
  decode(bytes?: Uint8Array, options?: { stream?: boolean }): string;
}

/** A character encoding. */
export interface Encoding {
  /** Its label for `decoderOf`. */
  label: string;
  /** Its name in answers. */
  name: string;
  /** If it is a guess: the label of another one that it may be. */
  other?: string;
}

/** The name of an encoding for `decoderOf`; undefined if there is no such encoding. */
export function labelOf(charset: string): string | undefined {
  const [, page] = CODE_PAGE.exec(charset) ?? [];
  if (page !== undefined) return `cp${page}`;
  const name = charset.toLowerCase().replace(/^(?:cp|ms|windows-)(?=\d+$)/, '');
  const label = NAMES[name] ?? charset.toLowerCase();
  if (UTF_32.test(label)) return label;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}

/** The name of the encoding of a code page of Windows or DOS for `decoderOf`; undefined if there is none. */
export function labelOfPage(page: number): string | undefined {
  return labelOf(NAMES[page] ?? `windows-${page}`) ?? labelOf(`cp${page}`);
}

/** A decoder. @param label a name as `labelOf` gives it */
export function decoderOf(label: string): Decoder {
  if (label === 'windows-1252') {
    const decoder = new TextDecoder(label);
    // In one piece, Node 20 decodes it as ISO-8859-1.
    return { decode: (bytes) => decoder.decode(bytes, { stream: true }) };
  }
  if (UTF_32.test(label)) return utf32Decoder(label);
  if (!CODE_PAGE.test(label)) return new TextDecoder(label);
  return { decode: (bytes) => (bytes ? iconv.decode(Buffer.from(bytes), label) : '') };
}

/** It leaves out a byte order mark, as `TextDecoder` does. */
function utf32Decoder(label: string): Decoder {
  const decoder = iconv.getDecoder(label);
  let isBeginning = true;
  return {
    decode(bytes) {
      const text = bytes ? decoder.write(Buffer.from(bytes)) : (decoder.end() ?? '');
      const shown = isBeginning ? text.replace(/^\ufeff/, '') : text;
      isBeginning &&= text === '';
      return shown;
    },
  };
}
