import { EventLoopShare } from './event-loop-share.js';

/** Characters that are written at once. */
const PIECE_LENGTH = 16 * 1024;

/** Who reads the pieces learns of so many more levels at once: a reader with a limit refuses before the writer is too deep. */
const LEVELS = 64;

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

/** Returns the pieces of the JSON of a value, for a reader that may wait between two of them. */
export function* jsonPieces(value: unknown, isSorted = false): Generator<string> {
  const writer = new JsonWriter(isSorted);
  yield* writer.pieces(value);
  yield writer.rest();
}

class JsonWriter {
  #text = '';
  #depth = 0;

  constructor(private readonly isSorted: boolean) {}

  /** Writes a value. Yields what is long enough; the `rest` follows. */
  *pieces(value: unknown): Generator<string> {
    const written = hasToJson(value) ? value.toJSON() : value;
    if (typeof written === 'string') yield* this.#string(written);
    else if (Array.isArray(written)) yield* this.#array(written);
    else if (typeof written === 'object' && written !== null) yield* this.#object(written);
    else this.#text += JSON.stringify(written) ?? 'null';
    if (this.#text.length >= PIECE_LENGTH) yield this.rest();
  }

  rest(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  *#array(array: unknown[]): Generator<string> {
    this.#text += '[';
    if (++this.#depth % LEVELS === 0) yield this.rest();
    for (let index = 0; index < array.length; index++) {
      if (index > 0) this.#text += ',';
      yield* this.pieces(array[index]);
    }
    this.#text += ']';
    this.#depth--;
  }

  *#object(object: object): Generator<string> {
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
