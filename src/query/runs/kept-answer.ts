import { Buffer } from 'node:buffer';
import { isOfTurn } from '../contract/envelope-shapes.js';
import type { Envelope, TurnAnswer } from 'nest-agent-query-client';

/** The most characters of an answer's text that a turn keeps. */
const TEXT_LENGTH = 1024 * 1024;

/** The most bytes of JSON that the envelopes of a turn have together. */
const ENVELOPES_BYTES = 1024 * 1024;

/** The types whose envelopes are pieces of a text. */
type ChunkType = 'message' | 'reasoning';

/** Neighbouring envelopes that are pieces of one text. */
interface Chunks {
  type: ChunkType;
  id: string | undefined;
  /** How many characters of all texts of this type they have. */
  length: number;
  /** The bytes of JSON that each piece has besides its content. */
  overhead: number;
}

/** An envelope that is not joined with others. */
interface Single {
  json: string;
  /** The type, and how many characters of its texts the envelope has, if it is a piece of a text with other members. */
  chunk?: { type: ChunkType; length: number };
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
  #text = '';
  #reasoning = '';
  #bytes = '[]'.length;
  #isTruncated = false;
  readonly #envelopes: (Chunks | Single)[] = [];

  constructor(before?: TurnAnswer) {
    if (!before) return;
    for (const envelope of before.envelopes) this.add(envelope, JSON.stringify(envelope));
    this.#text = before.text;
    this.#isTruncated = before.envelopesTruncated ?? false;
  }

  /** Whether nothing more is kept: the rest of the answer is ignored. */
  get isFull(): boolean {
    return this.#isTruncated && this.#text.length >= TEXT_LENGTH;
  }

  /** Adds the next envelope of the log; `json` is its text. */
  add(envelope: Envelope, json: string): void {
    const { type, data } = envelope;
    if (!isOfTurn(type) || this.isFull) return;
    if (type !== 'message' && type !== 'reasoning') this.#addSingle({ json });
    else if (isChunk(data)) this.#addChunk(type, data, json);
    else this.#addTextWithMembers(type, json);
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

  /** What is kept so far. */
  get value(): TurnAnswer {
    const texts = { message: this.#text, reasoning: this.#reasoning };
    const offsets = { message: 0, reasoning: 0 };
    const envelopes = this.#envelopes.map((kept): Envelope => {
      if ('json' in kept) {
        if (kept.chunk) offsets[kept.chunk.type] += kept.chunk.length;
        return JSON.parse(kept.json) as Envelope;
      }
      const { type, id, length } = kept;
      const content = texts[type].slice(offsets[type], offsets[type] + length);
      offsets[type] += length;
      return { type, data: id === undefined ? { content } : { content, id } };
    });
    return { text: this.#text, envelopes, ...(this.#isTruncated && { envelopesTruncated: true }) };
  }

  #addChunk(type: ChunkType, { content, id }: { content: string; id?: string }, json: string): void {
    const newest = this.#envelopes.at(-1);
    const isJoined = newest && !('json' in newest) && newest.type === type && newest.id === id;
    const chunks = isJoined
      ? newest
      : {
          type,
          id,
          length: 0,
          overhead: Buffer.byteLength(JSON.stringify({ type, data: { content: '', id } })),
        };
    const isKept = this.#reserve(Buffer.byteLength(json) - (isJoined ? chunks.overhead : 0), !isJoined);
    this.#addText(type, content, isKept);
    if (!isKept) return;
    chunks.length += content.length;
    if (!isJoined) this.#envelopes.push(chunks);
  }

  /** The text would lose the other members if it were joined. */
  #addTextWithMembers(type: ChunkType, json: string): void {
    const { content } = (JSON.parse(json) as { data: { content: string } }).data;
    const isKept = this.#addSingle({ json, chunk: { type, length: content.length } });
    this.#addText(type, content, isKept);
  }

  #addText(type: ChunkType, content: string, isKept: boolean): void {
    if (type === 'message') this.#text += content.slice(0, TEXT_LENGTH - this.#text.length);
    else if (isKept) this.#reasoning += content;
  }

  #addSingle(single: Single): boolean {
    const isKept = this.#reserve(Buffer.byteLength(single.json), true);
    if (isKept) this.#envelopes.push(single);
    return isKept;
  }

  /** Returns whether so many bytes are kept. From the first that are not, no envelope is. */
  #reserve(bytes: number, isEnvelope: boolean): boolean {
    if (this.#isTruncated) return false;
    const isFirst = this.#envelopes.length === 0;
    const added = bytes + (isEnvelope && !isFirst ? ','.length : 0);
    if (this.#bytes + added > ENVELOPES_BYTES) this.#isTruncated = true;
    else this.#bytes += added;
    return !this.#isTruncated;
  }
}

/** Whether the data has nothing but the text and its id. */
function isChunk(data: unknown): data is { content: string; id?: string } {
  if (typeof data !== 'object' || data === null || 'toJSON' in data) return false;
  for (const name in data) if (name !== 'content' && name !== 'id') return false;
  return typeof (data as { content?: unknown }).content === 'string';
}
