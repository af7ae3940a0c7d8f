import { decoderOf, labelOfPage } from './code-pages.js';
import type { Decoder } from './code-pages.js';
import { symbolOf } from './symbol-fonts.js';

/** The code page of a font, by the number of its character set (RTF specification 1.9.1, `\fcharset`). */
const PAGES: Record<number, number> = {
  77: 10_000,
  128: 932,
  129: 949,
  130: 1361,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
  254: 437,
  255: 850,
};
/** The character set of fonts that have signs in place of letters. */
const SYMBOLS = 2;
/** Code pages of the document, by the word that says so. */
const DOCUMENT_PAGES: Record<string, number> = { mac: 10_000, pc: 437, pca: 850 };
const MOST = 10_000;

interface Font {
  name: string;
  charset: number;
  page: number | undefined;
  decoder?: Decoder;
}

/** The fonts of a document in Rich Text Format: they say in which code page its bytes are. */
export class RtfFonts {
  readonly #fonts = new Map<number, Font>();
  #latest: Font = { name: '', charset: 0, page: undefined };
  #document = decoderOf('windows-1252');
  /** The number of the font of text that states none. */
  #usual: number | undefined;

  /** Notes what a control word says about the document. */
  document(word: string, parameter: number | undefined): void {
    if (word === 'deff') this.#usual = parameter;
    const page = word === 'ansicpg' ? parameter : DOCUMENT_PAGES[word];
    if (page !== undefined) this.#document = decoderOf(labelOfPage(page) ?? 'windows-1252');
  }

  /** Notes what a control word in the table of fonts says. */
  control(word: string, parameter = 0): void {
    if (word === 'f') {
      this.#latest = { name: '', charset: 0, page: undefined };
      if (this.#fonts.size < MOST) this.#fonts.set(parameter, this.#latest);
    }
    if (word === 'fcharset') this.#latest.charset = parameter;
    if (word === 'cpg') this.#latest.page = parameter;
  }

  /** Notes a part of the name of a font. */
  name(text: string): void {
    if (this.#latest.name.length < 100) this.#latest.name += text;
  }

  /** What decodes text. @param number of its font; undefined if it states none */
  decoder(number: number | undefined): Decoder {
    const font = this.#fonts.get(number ?? this.#usual ?? NaN);
    if (!font) return this.#document;
    if (font.charset === SYMBOLS) return { decode: (bytes = new Uint8Array()) => signsOf(font.name, bytes) };
    const label = labelOfPage(font.page ?? PAGES[font.charset] ?? 0);
    return (font.decoder ??= label === undefined ? this.#document : decoderOf(label));
  }

  /** A character: fonts of signs have theirs among those for private use. @param number of its font */
  character(unit: number, number: number | undefined): string {
    const font = this.#fonts.get(number ?? this.#usual ?? NaN);
    const isSign = unit >= 0xf020 && unit <= 0xf0ff;
    return font && isSign ? symbolOf(font.name, unit) : String.fromCharCode(unit);
  }
}

function signsOf(name: string, bytes: Uint8Array): string {
  return [...bytes].map((byte) => symbolOf(name, byte)).join('');
}
