import type { ContentWriter } from '../files/contents.js';

/** Stands where a `base64` string is not what RFC 4648 §4 asks for. */
export class Base64Fault {
  /**
   * @param reason what is wrong and what to do: the rest of a sentence whose subject is the string
   * @param offset where, in characters of the string's value, the first being 0
   */
  constructor(
    readonly reason: string,
    readonly offset: number,
  ) {}
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const NONE = 64;
const PAD = '='.charCodeAt(0);
const COLON = ':'.charCodeAt(0);

const SEXTETS = new Uint8Array(256).fill(NONE);
for (let value = 0; value < 64; value++) SEXTETS[ALPHABET.charCodeAt(value)] = value;

/** Fewer characters than these are decoded sooner one by one than by a call into Node. */
const WORTH_A_CALL = 32;

/**
 * Decodes one base64 string that arrives in runs of any length, and refuses what other decoders pass over: the URL-safe
 * alphabet, white space, missing or misplaced padding, and bits set after the last byte (RFC 4648 §3.5), with which two
 * different texts would stand for the same content.
 */
export class Base64Decoder {
  /** What is wrong, as soon as something is. Nothing more may be decoded then. */
  fault: Base64Fault | undefined;
  private characters = 0;
  private padding = 0;
  /** The bits of the group of four characters that is under way. */
  private group = 0;
  private opening = '';

  constructor(private readonly writer: ContentWriter) {}

  /**
   * Decodes `bytes[from..to)`, at most 64 KiB.
   *
   * @returns `to`, or the position of the byte at fault
   */
  decode(bytes: Buffer, from: number, to: number): number {
    let at = from;
    for (; this.characters % 4 !== 0 && at < to; at++) if (!this.put(bytes[at]!)) return at;
    // Node's decoder does not check padding, so the group that may be the last is left to `put`.
    const whole = at + Math.floor((to - at - 1) / 4) * 4;
    if (whole - at >= WORTH_A_CALL && this.padding === 0 && this.decodeGroups(bytes, at, whole)) at = whole;
    for (; at < to; at++) if (!this.put(bytes[at]!)) return at;
    return to;
  }

  /** Decodes one character, given by its UTF-16 code. Returns false where it is at fault. */
  put(code: number): boolean {
    const sextet = code < 256 ? SEXTETS[code]! : NONE;
    if (sextet === NONE || this.padding > 0) return code === PAD ? this.pad() : this.refuse(code);
    if (this.characters < 4) this.opening += String.fromCharCode(code);
    this.group = (this.group << 6) | sextet;
    this.characters++;
    if (this.characters % 4 === 0) this.emit(3);
    return true;
  }

  /** Ends the string. `fault` then says whether it was sound. */
  end(): void {
    if (this.fault || this.characters % 4 === 0) return;
    this.fail('ends inside a group of 4 characters: it was cut, or its padding ("=") is missing');
  }

  /** Node decodes groups by the thousand but drops what it does not know: a short result tells that it did. */
  private decodeGroups(bytes: Buffer, from: number, to: number): boolean {
    const text = bytes.toString('latin1', from, to);
    if (text.includes('-') || text.includes('_')) return false;
    const size = ((to - from) / 4) * 3;
    const room = this.writer.room(size + 3);
    if (room.write(text, this.writer.position, size, 'base64') !== size) return false;
    if (this.characters === 0) this.opening = text.slice(0, 4);
    this.characters += to - from;
    this.writer.wrote(size);
    return true;
  }

  private emit(size: number): void {
    const room = this.writer.room(3);
    const at = this.writer.position;
    room[at] = this.group >> 16;
    if (size > 1) room[at + 1] = this.group >> 8;
    if (size > 2) room[at + 2] = this.group;
    this.group = 0;
    this.writer.wrote(size);
  }

  private pad(): boolean {
    const place = this.characters % 4;
    if (place < 2) {
      if (this.padding > 0) return this.fail('goes on after its padding ("=")');
      return this.fail('has padding ("=") where a character of the content is due');
    }
    if (this.padding === 0) {
      const spareBits = place === 2 ? 4 : 2;
      if (this.group & ((1 << spareBits) - 1)) {
        return this.fail('has bits set after its last byte: it was cut or altered', this.characters - 1);
      }
      this.group <<= place === 2 ? 12 : 6;
    }
    this.padding++;
    this.characters++;
    if (this.characters % 4 === 0) this.emit(3 - this.padding);
    return true;
  }

  private refuse(code: number): false {
    const character = String.fromCharCode(code);
    if (ALPHABET.includes(character)) return this.fail('goes on after its padding ("=")');
    if (code === COLON && this.characters === 4 && this.opening.toLowerCase() === 'data') {
      return this.fail('is a data: URL; send only what follows its comma');
    }
    if (character === '-' || character === '_') {
      return this.fail(`has the URL-safe character "${character}"; use the standard alphabet ("+" and "/")`);
    }
    if (character === '\n' || character === '\r') return this.fail('has a line break; send it as one line');
    if (character === ' ' || character === '\t') return this.fail('has white space; send it without');
    const named = code > 0x20 && code < 0x7f ? ` ${JSON.stringify(character)}` : '';
    return this.fail(`has a character${named} that is not of the base64 alphabet`);
  }

  private fail(reason: string, offset = this.characters): false {
    this.fault = new Base64Fault(reason, offset);
    return false;
  }
}
