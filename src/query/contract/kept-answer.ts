import { Buffer } from 'node:buffer';
import type { Envelope, TurnAnswer } from 'nest-agent-query-client';
import { isOfTurn } from './envelope-shapes.js';

/** The most characters of an answer's text that a turn keeps. */
const TEXT_LENGTH = 1024 * 1024;

/** The most bytes of JSON that the envelopes of a turn have together. */
const ENVELOPES_BYTES = 1024 * 1024;

/** The types whose envelopes are pieces of a text. */
type TextType = 'message' | 'reasoning';

interface Chunks {
  type: TextType;
  id: string | undefined;
  /** How many characters of all texts of this type they have. */
  length: number;
  /** The bytes of JSON that each piece has besides its content. */
  overhead: number;
}

/**
 * An answer as a turn keeps it: the contents of its `message` envelopes, joined, and the envelopes of the types that belong to a
 * turn. Of these, neighbours that are pieces of one text are joined.
 *
 * @example
 * const answer = new KeptAnswer();
 * for (const line of lines) answer.add(JSON.parse(line), line);
 * answer.value; // what the turn keeps
 */
export class KeptAnswer {
  readonly #texts: Record<TextType, string> = { message: '', reasoning: '' };
  /** Those that are not joined with others as JSON. */
  readonly #envelopes: (Chunks | string)[] = [];
  #bytes = '[]'.length;
  #isTruncated = false;

  constructor(before?: TurnAnswer) {
    if (!before) return;
    for (const envelope of before.envelopes) this.add(envelope, JSON.stringify(envelope));
    this.#texts.message = before.text;
    this.#isTruncated = before.envelopesTruncated ?? false;
  }

  /** Whether nothing more is kept: the rest of the answer is ignored. */
  get isFull(): boolean {
    return this.#isTruncated && this.#texts.message.length >= TEXT_LENGTH;
  }

  /** Adds the next envelope of the log; `json` is its text. */
  add({ type, data }: Envelope, json: string): void {
    if (!isOfTurn(type) || this.isFull) return;
    if (!isTextType(type)) this.#addSingle(json);
    else if (isChunk(data)) this.#addText(type, data.content, this.#addChunk(type, data, json));
    // The text would lose the other members if it were joined.
    else this.#addText(type, contentOf(JSON.parse(json) as Envelope), this.#addSingle(json));
  }

  /**
   * Adds consecutive envelopes of the log, without those that are void.
   *
   * @param lines their JSON texts, one per line
   * @param first the number of the first
   * @param voids the numbers of void envelopes: the first and the last of each range
   */
  addLines(lines: string, first: number, voids: readonly (readonly [number, number])[]): void {
    for (const [index, line] of lines.split('\n').entries()) {
      const seq = first + index;
      const isVoid = voids.some(([from, to]) => from <= seq && seq <= to);
      if (!isVoid) this.add(JSON.parse(line) as Envelope, line);
    }
  }

  get value(): TurnAnswer {
    const offsets = { message: 0, reasoning: 0 };
    const envelopes = this.#envelopes.map((kept): Envelope => {
      if (typeof kept === 'string') {
        const envelope = JSON.parse(kept) as Envelope;
        if (isTextType(envelope.type)) offsets[envelope.type] += contentOf(envelope).length;
        return envelope;
      }
      const { type, id, length } = kept;
      const start = offsets[type];
      offsets[type] += length;
      const content = this.#texts[type].slice(start, offsets[type]);
      return { type, data: id === undefined ? { content } : { content, id } };
    });
    return { text: this.#texts.message, envelopes, ...(this.#isTruncated && { envelopesTruncated: true }) };
  }

  #addChunk(type: TextType, { content, id }: { content: string; id?: string }, json: string): boolean {
    const bytes = Buffer.byteLength(json);
    const newest = this.#envelopes.at(-1);
    if (typeof newest === 'object' && newest.type === type && newest.id === id) {
      if (!this.#reserve(bytes - newest.overhead)) return false;
      newest.length += content.length;
      return true;
    }
    if (!this.#reserveNext(bytes)) return false;
    const overhead = Buffer.byteLength(JSON.stringify({ type, data: { content: '', id } }));
    this.#envelopes.push({ type, id, length: content.length, overhead });
    return true;
  }

  #addSingle(json: string): boolean {
    const isKept = this.#reserveNext(Buffer.byteLength(json));
    if (isKept) this.#envelopes.push(json);
    return isKept;
  }

  #addText(type: TextType, content: string, isKept: boolean): void {
    const texts = this.#texts;
    if (type === 'message') texts.message += content.slice(0, TEXT_LENGTH - texts.message.length);
    else if (isKept) texts.reasoning += content;
  }

  #reserveNext(bytes: number): boolean {
    return this.#reserve(bytes + (this.#envelopes.length > 0 ? ','.length : 0));
  }

  /** Returns whether so many bytes are kept. From the first that are not, no envelope is. */
  #reserve(bytes: number): boolean {
    if (this.#bytes + bytes > ENVELOPES_BYTES) this.#isTruncated = true;
    if (!this.#isTruncated) this.#bytes += bytes;
    return !this.#isTruncated;
  }
}

function isTextType(type: string): type is TextType {
  return type === 'message' || type === 'reasoning';
}

function contentOf({ data }: Envelope): string {
  return (data as { content: string }).content;
}

/** Whether the data has nothing but the text and its id. */
function isChunk(data: unknown): data is { content: string; id?: string } {
  if (typeof data !== 'object' || data === null || 'toJSON' in data) return false;
  for (const name in data) if (name !== 'content' && name !== 'id') return false;
  return typeof (data as { content?: unknown }).content === 'string';
}
