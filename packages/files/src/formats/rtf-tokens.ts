/** What an RTF file consists of (RTF specification 1.9.1). */
export interface RtfListener {
  open(): void;
  close(): void;
  /** A control word or symbol, such as `par` or `~`, with its number if it has one. */
  control(word: string, parameter: number | undefined): void;
  /** A byte of text in the code page of the file. */
  byte(byte: number): void;
}

/** Characters of a control word and of its number. The specification allows 32 letters. */
const LONGEST_WORD = 32;
const LONGEST_NUMBER = 11;

type State = 'text' | 'backslash' | 'word' | 'number' | 'hex' | 'binary';

/** Splits RTF into its tokens as it arrives. It keeps one token only, whatever the file contains. */
export class RtfTokens {
  #state: State = 'text';
  #word = '';
  #number = '';
  #hex = '';
  #binaryLeft = 0;

  constructor(private readonly listener: RtfListener) {}

  write(bytes: Uint8Array): void {
    for (const byte of bytes) {
      switch (this.#state) {
        case 'text':
          this.#text(byte);
          break;
        case 'backslash':
          this.#backslash(byte);
          break;
        case 'word':
        case 'number':
          this.#control(byte);
          break;
        case 'hex':
          this.#hexDigit(byte);
          break;
        case 'binary':
          this.#binaryLeft -= 1;
          if (this.#binaryLeft === 0) this.#state = 'text';
      }
    }
  }

  #text(byte: number): void {
    if (byte === 0x5c) this.#state = 'backslash';
    else if (byte === 0x7b) this.listener.open();
    else if (byte === 0x7d) this.listener.close();
    else if (byte !== 10 && byte !== 13 && byte !== 0) this.listener.byte(byte);
  }

  #backslash(byte: number): void {
    this.#state = 'text';
    if (isLetter(byte)) {
      this.#state = 'word';
      this.#word = String.fromCharCode(byte);
      this.#number = '';
    } else if (byte === 0x27) {
      this.#state = 'hex';
      this.#hex = '';
    } else if (byte === 0x5c || byte === 0x7b || byte === 0x7d) this.listener.byte(byte);
    else this.listener.control(byte === 10 || byte === 13 ? 'par' : String.fromCharCode(byte), undefined);
  }

  #control(byte: number): void {
    const isDigit = byte >= 0x30 && byte <= 0x39;
    const isMinus = byte === 0x2d && this.#state === 'word';
    if (this.#state === 'word' && isLetter(byte)) {
      if (this.#word.length < LONGEST_WORD) this.#word += String.fromCharCode(byte);
    } else if (isDigit || isMinus) {
      this.#state = 'number';
      if (this.#number.length < LONGEST_NUMBER) this.#number += String.fromCharCode(byte);
    } else {
      this.#endControl();
      // A space ends a control word and belongs to it. Anything else follows it.
      if (byte !== 0x20) this.write(Uint8Array.of(byte));
    }
  }

  #endControl(): void {
    const parameter = /\d/.test(this.#number) ? Number(this.#number) : undefined;
    this.#state = 'text';
    if (this.#word === 'bin' && parameter !== undefined && parameter > 0) {
      this.#binaryLeft = parameter;
      this.#state = 'binary';
    } else this.listener.control(this.#word, parameter);
  }

  #hexDigit(byte: number): void {
    this.#hex += String.fromCharCode(byte);
    if (this.#hex.length < 2) return;
    this.#state = 'text';
    if (/^[\da-f]{2}$/i.test(this.#hex)) this.listener.byte(Number.parseInt(this.#hex, 16));
  }
}

function isLetter(byte: number): boolean {
  return (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
}
