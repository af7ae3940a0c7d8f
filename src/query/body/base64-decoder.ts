import type { ContentWriter } from '../files/body-contents.js';
import type { BodyContent } from '../files/content.js';

/** Takes the place of a `base64` string that does not follow RFC 4648 §4. */
export class Base64Fault {
  /**
   * @param reason what is wrong and what to do: the rest of a sentence whose subject is the string
   * @param offset index of the wrong character in the value of the string, in UTF-16 code units
   */
  constructor(
    readonly reason: string,
    readonly offset: number,
  ) {}
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** The entry of `SEXTETS` for a character that is not in the alphabet. */
const NONE = 64;
const PAD = '='.charCodeAt(0);
const COLON = ':'.charCodeAt(0);

/** The six bits that each character of the alphabet stands for. */
const SEXTETS = new Uint8Array(256).fill(NONE);
for (let value = 0; value < 64; value++) SEXTETS[ALPHABET.charCodeAt(value)] = value;

/** Fewer characters than these are decoded faster one by one than by a call to Node's decoder. */
const MIN_NODE_CHARACTERS = 32;

/**
 * Decodes one base64 string that arrives in pieces of any length.
 *
 * It refuses what other decoders tolerate: the URL-safe alphabet, white space, missing or misplaced padding, and bits
 * after the last byte that are not zero (RFC 4648 §3.5). With such bits, two different texts would stand for one content.
 *
 * What decodes or skips characters throws QueryError `limit_exceeded` and `rate_limited`, for the file that has become too large.
 */
export class Base64Decoder {
  /** The first fault of the string. Once it is set, what follows is skipped. */
  fault: Base64Fault | undefined;
  /** Characters decoded so far, padding included. */
  #characters = 0;
  #padding = 0;
  /** The bits of the current group of four characters. */
  #group = 0;
  /** The first four characters, which may be those of a `data:` URL. */
  #opening = '';

  constructor(private readonly writer: ContentWriter) {}

  /** Decodes `bytes[from..to)`, at most 64 KiB. Returns `to`, or the index of the first wrong byte; `fault` is set then. */
  decode(bytes: Buffer, from: number, to: number): number {
    let index = from;
    for (; this.#characters % 4 !== 0 && index < to; index++) {
      if (!this.decodeCharacter(bytes[index]!)) return index;
    }
    // Node's decoder does not check padding. Therefore the group that may be the last is decoded one by one.
    const groupsEnd = index + Math.floor((to - index - 1) / 4) * 4;
    const isWorthCall = groupsEnd - index >= MIN_NODE_CHARACTERS && this.#padding === 0;
    if (isWorthCall && this.#decodeGroups(bytes, index, groupsEnd)) index = groupsEnd;
    for (; index < to; index++) if (!this.decodeCharacter(bytes[index]!)) return index;
    return to;
  }

  /** Decodes one character. Returns false if it is wrong; `fault` is set then. */
  decodeCharacter(code: number): boolean {
    const sextet = code < 256 ? SEXTETS[code]! : NONE;
    if (sextet === NONE || this.#padding > 0) return code === PAD ? this.#pad() : this.#refuse(code);
    if (this.#characters < 4) this.#opening += String.fromCharCode(code);
    this.#group = (this.#group << 6) | sextet;
    this.#characters++;
    if (this.#characters % 4 === 0) this.#writeGroup(3);
    return true;
  }

  /** Counts characters after the fault as if they were decoded: the limits apply to them too. */
  skip(characters: number): void {
    this.writer.count(characters * 0.75);
  }

  /** Ends the string, and returns its content or its fault. */
  end(): BodyContent | Base64Fault {
    if (!this.fault && this.#characters % 4 !== 0) {
      this.#fail('ends inside a group of 4 characters: it was cut off, or its padding ("=") is missing');
    }
    return this.fault ?? this.writer.finish();
  }

  /** Decodes whole groups with Node's decoder. It skips wrong characters: a short result shows that there are some. */
  #decodeGroups(bytes: Buffer, from: number, to: number): boolean {
    const text = bytes.toString('latin1', from, to);
    if (text.includes('-') || text.includes('_')) return false;
    const size = ((to - from) / 4) * 3;
    const buffer = this.writer.reserve(size + 3);
    if (buffer.write(text, this.writer.offset, size, 'base64') !== size) return false;
    if (this.#characters === 0) this.#opening = text.slice(0, 4);
    this.#characters += to - from;
    this.writer.commit(size);
    return true;
  }

  #writeGroup(size: number): void {
    const buffer = this.writer.reserve(3);
    const { offset } = this.writer;
    buffer[offset] = this.#group >> 16;
    if (size > 1) buffer[offset + 1] = this.#group >> 8;
    if (size > 2) buffer[offset + 2] = this.#group;
    this.#group = 0;
    this.writer.commit(size);
  }

  #pad(): boolean {
    const inGroup = this.#characters % 4;
    if (inGroup < 2) {
      if (this.#padding > 0) return this.#fail('continues after its padding ("=")');
      return this.#fail('has padding ("=") where a character of the content is expected');
    }
    if (this.#padding === 0) {
      const spareBits = inGroup === 2 ? 4 : 2;
      if (this.#group & ((1 << spareBits) - 1)) {
        const reason = 'has bits after its last byte that are not zero: it was cut off or altered';
        return this.#fail(reason, this.#characters - 1);
      }
      this.#group <<= inGroup === 2 ? 12 : 6;
    }
    this.#padding++;
    this.#characters++;
    if (this.#characters % 4 === 0) this.#writeGroup(3 - this.#padding);
    return true;
  }

  #refuse(code: number): false {
    const character = String.fromCharCode(code);
    if (ALPHABET.includes(character)) return this.#fail('continues after its padding ("=")');
    if (code === COLON && this.#characters === 4 && this.#opening.toLowerCase() === 'data') {
      return this.#fail('is a data: URL; send only what follows its comma');
    }
    if (character === '-' || character === '_') {
      return this.#fail(`has the URL-safe character "${character}"; use the standard alphabet ("+" and "/")`);
    }
    if (character === '\n' || character === '\r') return this.#fail('has a line break; send it as one line');
    if (character === ' ' || character === '\t') {
      return this.#fail('has white space; send it without white space');
    }
    const shown = code > 0x20 && code < 0x7f ? ` ${JSON.stringify(character)}` : '';
    return this.#fail(`has a character${shown} that is not of the base64 alphabet`);
  }

  #fail(reason: string, offset = this.#characters): false {
    this.fault = new Base64Fault(reason, offset);
    this.writer.discard();
    return false;
  }
}
