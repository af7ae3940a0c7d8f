import type { BodyContent } from '../files/content.js';
import type { Base64Fault } from './base64-decoder.js';

/** The most characters before the comma of a `data:` URL. */
const HEADER_LENGTH = 256;

const SCHEME = 'data:';

/**
 * A `data:` URL with base64 (RFC 2397), in the place of its string.
 *
 * @example
 * if (url instanceof DataUrl) parts.push({ type: 'file', name, mimeType: url.mimeType, base64: url.content });
 */
export class DataUrl {
  /**
   * @param mimeType the media type with its parameters; `text/plain` where the URL has none
   * @param content the decoded content, or what is wrong with the base64
   */
  constructor(
    readonly mimeType: string,
    readonly content: BodyContent | Base64Fault,
  ) {}
}

/** The characters of a string until it is known whether it is a `data:` URL. */
export class DataUrlHeader {
  text = '';
  /** Set when it is known: the media type of a `data:` URL with base64; null for any other string. */
  mimeType: string | null | undefined;

  /** Takes the next UTF-16 code unit. Returns whether it is known now what the string is. */
  take(code: number): boolean {
    this.text += String.fromCharCode(code);
    const { text } = this;
    if (text.length <= SCHEME.length) {
      if (!SCHEME.startsWith(text.toLowerCase())) this.mimeType = null;
    } else if (text.endsWith(',')) {
      const [, type] = /^data:(.*);\s*base64,$/i.exec(text) ?? [];
      this.mimeType = type === undefined ? null : type.trim() || 'text/plain';
    } else if (text.length > HEADER_LENGTH || code > 0x7e) {
      this.mimeType = null;
    }
    return this.mimeType !== undefined;
  }
}
