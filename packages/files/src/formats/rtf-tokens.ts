/** What an RTF file consists of (RTF specification 1.9.1). */
export interface RtfListener {
  open(): void;
  close(): void;
  /** A control word or symbol, such as `par` or `~`, with its number if it has one. */
  control(word: string, parameter: number | undefined): void;
  /** Text in the code page of the file. Each character is a byte. */
  text(bytes: string): void;
}

/**
 * A control word with its number and the space that ends it, a byte in two digits, a control symbol, a brace, or text. The
 * specification allows 32 letters: the rest of more letters, or of more digits, is left out.
 */
const TOKEN = /\\(?:([a-z]{1,32})[a-z]*([-\d]?\d{0,10})\d*( ?)|'(..)|([^a-z']))|[{}]|[^\\{}]+/isy;

/** Splits RTF into its tokens as it arrives. It keeps one token only, whatever the file contains. */
export class RtfTokens {
  /** A token that may go on in the next bytes. */
  #held = '';
  /** Bytes of binary data that follow. */
  #binaryLeft = 0;

  constructor(private readonly listener: RtfListener) {}

  write(bytes: Uint8Array): void {
    const text = this.#held + Buffer.from(bytes).toString('latin1');
    this.#held = '';
    let at = this.#skipBinary(text, 0);
    while (at < text.length) {
      TOKEN.lastIndex = at;
      const match = TOKEN.exec(text);
      if (!match) {
        this.#held = text.slice(at);
        return;
      }
      const [token, word, number = '', space, hex, symbol] = match;
      at += token.length;
      if (word === undefined) this.#pass(token, hex, symbol);
      else if (space === '' && at === text.length) this.#held = `\\${word}${number}`;
      else if (word === 'bin' && Number(number) > 0) {
        this.#binaryLeft = Number(number);
        at = this.#skipBinary(text, at);
      } else this.listener.control(word, /\d/.test(number) ? Number(number) : undefined);
    }
  }

  #pass(token: string, hex: string | undefined, symbol: string | undefined): void {
    if (token === '{') this.listener.open();
    else if (token === '}') this.listener.close();
    else if (hex !== undefined) {
      if (/^[\da-f]{2}$/i.test(hex)) this.listener.text(String.fromCharCode(Number.parseInt(hex, 16)));
    } else if (symbol === undefined) this.#text(token);
    else if (/[\\{}]/.test(symbol)) this.listener.text(symbol);
    else this.listener.control(/[\r\n]/.test(symbol) ? 'par' : symbol, undefined);
  }

  #text(token: string): void {
    const text = token.replace(/[\r\n\0]+/g, '');
    if (text !== '') this.listener.text(text);
  }

  /** @returns where the tokens go on */
  #skipBinary(text: string, at: number): number {
    const skipped = Math.min(this.#binaryLeft, text.length - at);
    this.#binaryLeft -= skipped;
    return at + skipped;
  }
}
