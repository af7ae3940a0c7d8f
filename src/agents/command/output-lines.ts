import { StringDecoder } from 'node:string_decoder';
import { type Envelope, message, QueryError } from '../../query/index.js';

/** A line that cannot be an envelope is passed on in pieces of about so many characters. */
const PIECE_LENGTH = 64 * 1024;

/** How a line begins that may be an envelope. */
const OBJECT = /^\s*\{/;

/**
 * Makes envelopes of what a program writes. A line that is a JSON object with a `type`, a string, is that envelope. Any other
 * line is a `message` of the line with its end. So the messages of a program that knows nothing of envelopes are together what
 * it has written.
 */
export class OutputLines {
  readonly #decoder = new StringDecoder('utf8');
  /** The beginning of a line whose end has not arrived. */
  #begun = '';
  /** Whether a piece of this line was passed on. */
  #isInPieces = false;

  /** @param maxLength the most characters that a line may have if it begins as an envelope does */
  constructor(private readonly maxLength: number) {}

  /**
   * The envelopes of the lines that these bytes complete. Bytes that are not UTF-8 become U+FFFD.
   *
   * @throws {QueryError} `invalid_envelope`: a line that begins as an envelope does is too long
   */
  add(bytes: Buffer): Envelope[] {
    const lines = this.#decoder.write(bytes).split('\n');
    lines[0] = this.#begun + lines[0]!;
    this.#begun = lines.pop()!;
    const envelopes: Envelope[] = [];
    for (const line of lines) {
      envelopes.push(this.#envelopeOf(line, '\n'));
      this.#isInPieces = false;
    }
    if (this.#begun.length > PIECE_LENGTH) this.#shorten(envelopes);
    return envelopes;
  }

  /** The envelope of a last line without an end. */
  end(): Envelope[] {
    const line = this.#begun + this.#decoder.end();
    return line === '' ? [] : [this.#envelopeOf(line, '')];
  }

  #shorten(envelopes: Envelope[]): void {
    if (!this.#isInPieces && OBJECT.test(this.#begun)) {
      if (this.#begun.length <= this.maxLength) return;
      throw new QueryError(
        'invalid_envelope',
        `The agent emitted something that is not an envelope: a line that begins with { has more than ${this.maxLength} ` +
          'characters.',
      );
    }
    envelopes.push(message(this.#begun));
    this.#begun = '';
    this.#isInPieces = true;
  }

  #envelopeOf(line: string, end: string): Envelope {
    const envelope = !this.#isInPieces && OBJECT.test(line) ? parsed(line) : undefined;
    if (envelope) return envelope;
    return message(end !== '' && line.endsWith('\r') ? line.slice(0, -1) + end : line + end);
  }
}

function parsed(line: string): Envelope | undefined {
  try {
    const { type, data } = JSON.parse(line) as { type?: unknown; data?: unknown };
    return typeof type === 'string' ? { type, data } : undefined;
  } catch {
    return undefined;
  }
}
