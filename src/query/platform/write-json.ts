import { EventLoopShare } from './event-loop-share.js';

/** Characters that are written at once. */
const PIECE_LENGTH = 16 * 1024;

/** Who reads the pieces learns of so many more levels at once: a reader with a limit refuses before the writer is too deep. */
const LEVELS = 64;

/** A text that is read while it is written, and not held: pieces of JSON, without the quotes. */
export interface LongText extends AsyncIterable<string> {
  /** How many characters of JSON it has, at most. */
  readonly length: number;
}

/** A piece of JSON, or a text that is read when its turn comes. */
export type Piece = string | LongText;

/**
 * JSON that is made already, in pieces that are written one after another. It can be a part of a value that is returned by a route.
 *
 * @example
 * return { id, text: new JsonPieces(['"', ...text.json, '"']) };
 */
export class JsonPieces {
  constructor(readonly pieces: readonly Piece[]) {}

  /** How many characters of JSON they have, at most. */
  get length(): number {
    return this.pieces.reduce((sum, { length }) => sum + length, 0);
  }
}

/**
 * Writes a value as JSON, piece by piece. Between two pieces other requests have their turn: `JSON.stringify` holds the event loop
 * for 60 ms where a text has 8 MiB of line ends.
 *
 * @param value what `JSON.stringify` accepts; members that it leaves out are left out
 * @param write called with each piece, in order
 * @param isSorted whether members are in the order of their names, so that equal values have equal texts. Default false
 */
export async function writeJson(
  value: unknown,
  write: (piece: string) => void,
  isSorted = false,
): Promise<void> {
  const share = new EventLoopShare();
  for (const piece of jsonPieces(value, isSorted)) {
    write(piece);
    if (share.isUsedUp) await share.next();
  }
}

export async function jsonOf(value: unknown): Promise<string> {
  let json = '';
  await writeJson(value, (piece) => (json += piece));
  return json;
}

/** Returns the pieces of the JSON of a value without `JsonPieces`, for a reader that may wait between two of them. */
export function jsonPieces(value: unknown, isSorted = false): Generator<string> {
  return piecesOf(value, isSorted) as Generator<string>;
}

/**
 * Returns the pieces of the JSON of a value that may have `JsonPieces`.
 *
 * @example
 * form.writePieces([...piecesOf({ task })]);
 */
export function* piecesOf(value: unknown, isSorted = false): Generator<Piece> {
  const writer = new JsonWriter(isSorted);
  yield* writer.pieces(value);
  yield writer.rest();
}

/** What the parts of a value that are no texts count for, in characters. */
const VALUE_LENGTH = 16;

/**
 * Returns about how many characters of memory a value takes. A text that is read while it is written takes none.
 *
 * @example
 * heldLength({ text: 'Hello' }); // 37
 */
export function heldLength(value: unknown): number {
  if (typeof value === 'string') return value.length + VALUE_LENGTH;
  if (typeof value !== 'object' || value === null) return VALUE_LENGTH;
  const isMade = value instanceof JsonPieces;
  const members = isMade ? value.pieces.filter((piece) => typeof piece === 'string') : Object.values(value);
  return members.reduce<number>((sum, member) => sum + heldLength(member), VALUE_LENGTH);
}

class JsonWriter {
  #text = '';
  #depth = 0;

  constructor(private readonly isSorted: boolean) {}

  /** Writes a value. Yields what is long enough; the `rest` follows. */
  *pieces(value: unknown): Generator<Piece> {
    const written = hasToJson(value) ? value.toJSON() : value;
    if (typeof written === 'string') yield* this.#string(written);
    else if (Array.isArray(written)) yield* this.#array(written);
    else if (written instanceof JsonPieces) yield* this.#made(written);
    else if (typeof written === 'object' && written !== null) yield* this.#object(written);
    else this.#text += JSON.stringify(written) ?? 'null';
    if (this.#text.length >= PIECE_LENGTH) yield this.rest();
  }

  rest(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  *#made({ pieces }: JsonPieces): Generator<Piece> {
    for (const piece of pieces) {
      if (typeof piece === 'string') this.#text += piece;
      else {
        yield this.rest();
        yield piece;
      }
    }
  }

  *#array(array: unknown[]): Generator<Piece> {
    this.#text += '[';
    if (++this.#depth % LEVELS === 0) yield this.rest();
    for (let index = 0; index < array.length; index++) {
      if (index > 0) this.#text += ',';
      yield* this.pieces(array[index]);
    }
    this.#text += ']';
    this.#depth--;
  }

  *#object(object: object): Generator<Piece> {
    const names = Object.keys(object);
    if (this.isSorted) names.sort();
    let separator = '{';
    if (++this.#depth % LEVELS === 0) yield this.rest();
    for (const name of names) {
      const value = (object as Record<string, unknown>)[name];
      if (isLeftOut(value)) continue;
      this.#text += separator;
      yield* this.#string(name);
      this.#text += ':';
      yield* this.pieces(value);
      separator = ',';
    }
    this.#text += separator === '{' ? '{}' : '}';
    this.#depth--;
  }

  /** A surrogate pair may be cut: both halves are then escapes, which mean the same. */
  *#string(text: string): Generator<string> {
    if (text.length <= PIECE_LENGTH) {
      this.#text += JSON.stringify(text);
      return;
    }
    this.#text += '"';
    for (let index = 0; index < text.length; index += PIECE_LENGTH) {
      this.#text += JSON.stringify(text.slice(index, index + PIECE_LENGTH)).slice(1, -1);
      yield this.rest();
    }
    this.#text += '"';
  }
}

function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return typeof (value as { toJSON?: unknown } | null | undefined)?.toJSON === 'function';
}

/** `JSON.stringify` leaves out members with such a value. */
function isLeftOut(value: unknown): boolean {
  return value === undefined || typeof value === 'function' || typeof value === 'symbol';
}
